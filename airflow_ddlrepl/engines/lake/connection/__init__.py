"""This package opens a lake: the database of its catalog, and the Spark session that writes its tables."""
