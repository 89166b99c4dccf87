"""This package decides which changes of the log a client takes, for every client, table and kind of change."""
