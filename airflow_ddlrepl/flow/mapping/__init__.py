"""What a table is at a target: its name, its columns, its rows, its values."""
