"""This package applies logical change records one by one at a PostgreSQL target, and has the error queue there."""
