"""This package is Alembic's folder: it changes the repository's tables to a new version."""
