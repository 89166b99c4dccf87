"""This package finds who owns what a channel uses at a target, and which roles are trusted."""
