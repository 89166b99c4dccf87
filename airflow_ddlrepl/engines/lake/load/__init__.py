"""This package loads tables of a lake."""
