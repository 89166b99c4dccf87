"""This package parses the conditions that decide which rows a target takes (`restrict` in a channel file)."""
