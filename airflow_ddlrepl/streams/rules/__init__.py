"""This package holds rules, rule sets and clients, and decides whether a client takes a message."""
