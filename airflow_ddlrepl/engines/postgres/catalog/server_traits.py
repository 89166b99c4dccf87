"""This module reads what the results of a database's expressions depend on: encoding, collation, versions."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.ports.server_traits import ServerTraits

# Columns of pg_database have other names from 17 on.
_TRAITS = """
SELECT pg_catalog.pg_encoding_to_char(d.encoding),
  pg_catalog.concat_ws(' ', CASE d.datlocprovider WHEN 'c' THEN 'libc' WHEN 'i' THEN 'icu' ELSE 'builtin' END,
    CASE WHEN d.datcollate = d.datctype THEN d.datcollate ELSE d.datcollate || '/' || d.datctype END,
    COALESCE(to_jsonb(d) ->> 'datlocale', to_jsonb(d) ->> 'daticulocale'), to_jsonb(d) ->> 'daticurules',
    'version ' || pg_catalog.pg_database_collation_actual_version(d.oid)),
  (SELECT jsonb_object_agg(extname, extversion) FROM pg_catalog.pg_extension)
FROM pg_catalog.pg_database d WHERE d.datname = current_database()
"""


def server_traits(connection: Connection[Any]) -> ServerTraits:
    """Return the traits of the database of a connection."""
    row = connection.execute(_TRAITS.encode()).fetchone()
    assert row is not None
    return ServerTraits(connection.info.server_version // 10000, row[0], row[1], row[2] or {})
