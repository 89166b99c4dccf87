"""Refresh loads whole tables again from one snapshot while everything else goes on."""
