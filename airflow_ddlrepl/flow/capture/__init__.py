"""Capture: the source's log becomes segments of the trail and revisions of tables."""
