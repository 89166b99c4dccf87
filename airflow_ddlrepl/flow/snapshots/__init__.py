"""Snapshots: rows of a load that are archived in the trail, and how long they are retained."""
