"""This package evaluates rules of Oracle Streams, makes those that its procedures make, and transforms messages."""
