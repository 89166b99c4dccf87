"""This package has operators for clients of Oracle Streams that are started beside the cycle."""
