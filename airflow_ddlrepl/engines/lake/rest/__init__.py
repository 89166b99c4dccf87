"""This package speaks with the REST server that has a lake's catalog, and remembers what it was asked."""
