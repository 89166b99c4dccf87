"""Merge: changes of the log are staged and merged into the target's tables."""
