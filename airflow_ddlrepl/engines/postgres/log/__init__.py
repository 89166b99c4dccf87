"""The log: replication slots, timelines, and how a range of it is read."""
