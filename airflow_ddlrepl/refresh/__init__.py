"""Refresh: load tables anew from one snapshot while everything else goes on."""
