"""This package brings the tables of apply processes to their targets, with their rows, before their first changes."""
