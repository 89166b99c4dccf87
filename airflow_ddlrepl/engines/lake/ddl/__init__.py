"""This package writes statements for schema changes of Iceberg tables, and runs them."""
