"""Connections: drivers, a pool, quoting, COPY, retries of locks, errors."""
