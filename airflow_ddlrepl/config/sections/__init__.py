"""This package defines the sections of the channel file, a module for each."""
