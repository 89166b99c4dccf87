"""This package reads conditions in Oracle's syntax, and evaluates them for one message or for many rows."""
