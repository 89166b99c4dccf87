"""This package has catalogs that change one table at a time."""
