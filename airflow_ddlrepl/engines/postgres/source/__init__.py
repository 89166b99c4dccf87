"""This package works with a source database: what is set up in it, and which of its tables are in the log."""
