"""This package captures row changes with triggers, for a source whose log cannot be read."""
