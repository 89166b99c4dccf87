"""This package says how a lake's tables hold the values of a source's types."""
