"""This package stages net changes and merges them into tables of a DuckDB file."""
