"""This package has what the sections of a channel file build on: a base class, name patterns, moments, variables."""
