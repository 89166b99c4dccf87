"""This package defines ports that stages use beside a source and a target: running tasks, rows, positions and types."""
