"""This module has the names that stored texts have for some values: they are of the first engine, and stay."""

from __future__ import annotations

TYPE_ID, TYPE_MODIFIER, TRANSACTION_ID, SCHEMA_PATH = "oid", "typmod", "xid", "search_path"
SYSTEM_SCHEMA = "pg_catalog"
"""Every type that is built in is stored as one of this schema, whatever the engine."""
ABOUT_FEED = ("CREATE PUBLICATION", "ALTER PUBLICATION", "DROP PUBLICATION")
"""Tags of the statements about what a source's log has of its tables: they say nothing of the tables' shape."""
