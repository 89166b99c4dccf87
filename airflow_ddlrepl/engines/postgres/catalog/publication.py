"""This module finds what a publication publishes, from the catalogs alone.

The server's own function locks every table, so it waits for whoever alters one, without end.
"""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection

_PUBLISHED = """
WITH RECURSIVE p AS (SELECT * FROM pg_catalog.pg_publication WHERE pubname = %s), listed(id) AS (
    SELECT r.prrelid FROM p JOIN pg_catalog.pg_publication_rel r ON r.prpubid = p.oid
    UNION SELECT c.oid FROM p JOIN pg_catalog.pg_publication_namespace n ON n.pnpubid = p.oid
        JOIN pg_catalog.pg_class c ON c.relnamespace = n.pnnspid
    UNION SELECT c.oid FROM p JOIN pg_catalog.pg_class c ON p.puballtables
    UNION SELECT i.inhrelid FROM listed l JOIN pg_catalog.pg_inherits i ON i.inhparent = l.id
        JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid AND c.relispartition)
SELECT c.oid::bigint FROM pg_catalog.pg_class c JOIN listed l ON l.id = c.oid
WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND c.oid >= 16384
"""  # what initdb has made has smaller ids, and is never published


def published(connection: Connection[Any], name: str) -> set[int]:
    """Return ids of the tables whose rows that publication publishes; none where there is no such publication.

    Of partitioned tables the partitions that hold rows: rows are published as theirs (`health` sees to that).
    """
    return {int(i) for (i,) in connection.execute(_PUBLISHED.encode(), [name])}
