"""This package writes DuckDB's statements for schema changes."""
