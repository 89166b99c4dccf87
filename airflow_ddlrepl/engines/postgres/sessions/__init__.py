"""This package has what is said of a session of ours at a target: its name, its settings, its replication origin."""
