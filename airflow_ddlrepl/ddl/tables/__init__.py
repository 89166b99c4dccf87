"""These schema changes create, drop, rename or alter a whole table."""
