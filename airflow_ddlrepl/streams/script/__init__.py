"""This package reads SQL scripts that set up Oracle Streams."""
