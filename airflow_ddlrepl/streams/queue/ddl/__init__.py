"""This package gives statements in queues the names that row rules give to tables and columns."""
