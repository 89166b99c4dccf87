"""INCLUDE and EXCLUDE clauses and DDLSUBST: which statements a parameter is about, and what it does to their text."""
