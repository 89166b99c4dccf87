"""Mapping turns the source's table into the one that the channel file wants at a target, an aspect a file."""
