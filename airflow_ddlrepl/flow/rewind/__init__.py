"""A rewind rebuilds tables as they were at an earlier moment."""
