"""This package runs the clients of Oracle Streams that a channel file has: their rules, their queues, their work."""
