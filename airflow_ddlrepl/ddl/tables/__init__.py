"""Schema changes of tables."""
