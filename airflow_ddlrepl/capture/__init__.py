"""Capture decides what a window of the source's log means for the tables of a channel."""
