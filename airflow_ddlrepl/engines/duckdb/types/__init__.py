"""This package says how DuckDB holds the values of a source's types."""
