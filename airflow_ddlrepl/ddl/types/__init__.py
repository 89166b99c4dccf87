"""These schema changes create, rename or alter types, and these tables say what casts between types do."""
