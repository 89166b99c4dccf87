"""What every run of a stage shares: its context, its fence at a target, its results, its records."""
