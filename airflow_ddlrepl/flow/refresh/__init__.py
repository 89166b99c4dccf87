"""Refresh: a table is loaded whole from a snapshot of the source."""
