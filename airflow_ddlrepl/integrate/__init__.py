"""Integrate computes what all changes of a captured log together do to a target's rows; it knows no database."""
