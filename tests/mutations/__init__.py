"""Behaviours switched off on purpose, and which tests must notice: `make mutations`."""
