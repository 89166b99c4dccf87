"""This package defines calls of the procedures of Oracle Streams, as values of a channel file."""
