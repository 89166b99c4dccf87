"""A refresh loads a whole table from a snapshot of the source."""
