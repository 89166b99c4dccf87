"""This package knows what PostgreSQL's types do to values: casts, equality, which type is below a domain."""
