"""These schema changes add, drop, rename or alter a column of a table."""
