"""This package keeps the tables of a lake few in files, and removes those that nobody needs."""
