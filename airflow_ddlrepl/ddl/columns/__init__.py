"""Schema changes of columns."""
