"""Capture turns the source's log into segments of the trail and revisions of tables."""
