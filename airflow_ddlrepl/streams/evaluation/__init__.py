"""This package evaluates conditions: for one message, and for many rows of a table by SQL."""
