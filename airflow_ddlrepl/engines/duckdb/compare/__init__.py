"""This package compares tables of a DuckDB file with their sources."""
