"""What the channel file says of one table at one target, as values: names, rows, values, own columns, conflicts."""
