"""Every run of a stage shares these: its context, its fence at a target, its results, its records."""
