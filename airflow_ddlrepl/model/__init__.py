"""This package defines the frozen values that every stage works with; it imports nothing but the standard library."""
