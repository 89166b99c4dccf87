"""This package loads tables of a DuckDB file."""
