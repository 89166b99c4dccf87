"""This package connects to PostgreSQL servers: drivers, a pool, quoting, COPY, retries of locks, errors."""
