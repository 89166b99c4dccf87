"""Schema changes of types, and casts between types."""
