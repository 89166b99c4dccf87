"""This package loads tables: it fills new ones beside the old ones, and puts them in their places."""
