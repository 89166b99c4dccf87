"""This package looks at what a DuckDB file has."""
