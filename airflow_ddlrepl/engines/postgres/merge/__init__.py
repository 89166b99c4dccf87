"""This package stages changes of the log and merges them into the target's tables."""
