"""This package has what targets share whose schema changes take part in their transactions."""
