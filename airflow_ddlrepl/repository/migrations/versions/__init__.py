"""This package has one file for each change of the repository's tables, in order."""
