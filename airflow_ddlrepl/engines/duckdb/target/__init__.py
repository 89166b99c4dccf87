"""This package keeps a channel's state in a DuckDB file, and applies programs there."""
