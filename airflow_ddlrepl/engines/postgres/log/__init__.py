"""This package reads the log of a PostgreSQL source: replication slots, timelines, ranges of the log."""
