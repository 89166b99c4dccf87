"""What PostgreSQL's types do to values: casts, equality, what stands below a domain."""
