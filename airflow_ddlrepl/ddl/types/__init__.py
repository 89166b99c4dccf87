"""These schema changes create, rename or alter types."""
