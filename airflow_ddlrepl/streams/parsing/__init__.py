"""This package parses conditions in Oracle's syntax."""
