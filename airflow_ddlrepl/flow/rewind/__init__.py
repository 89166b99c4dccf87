"""Rewind: tables are rebuilt as they were at an earlier moment."""
