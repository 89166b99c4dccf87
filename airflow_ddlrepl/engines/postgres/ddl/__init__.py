"""DDL: a schema change becomes SQL."""
