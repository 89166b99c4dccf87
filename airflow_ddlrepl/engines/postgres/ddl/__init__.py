"""This package writes schema changes as PostgreSQL's DDL."""
