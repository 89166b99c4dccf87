"""This package opens DuckDB files, quotes names and explains the driver's errors."""
