"""These modules find out whether a target is ready, and prepare one that is not."""
