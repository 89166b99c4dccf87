"""A source's table is mapped to a target: its name, its columns, its rows, its values."""
