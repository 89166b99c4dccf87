"""Source and targets are compared at one position of the log, and what really differs is repaired."""
