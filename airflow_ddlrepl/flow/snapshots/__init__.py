"""Snapshots are the rows of a load, archived in the trail; these modules archive them and decide how long they stay."""
