"""Compare: digests of a table's rows."""
