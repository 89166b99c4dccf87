"""Compare finds out whether every table, column and row of a target is as at the source, and if not, what differs."""
