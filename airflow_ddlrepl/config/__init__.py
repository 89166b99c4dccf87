"""This package reads the channel file, which configures a replication, and checks its sections."""
