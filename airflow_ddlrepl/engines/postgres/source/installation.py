"""This module reads what a channel has set up at a PostgreSQL source: helper schema, event triggers, publication."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow_ddlrepl.config.sections.policies import DdlCapture
from airflow_ddlrepl.engines.postgres.catalog.installed import differences, installed
from airflow_ddlrepl.engines.postgres.catalog.publication import published
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.source import helper_schema
from airflow_ddlrepl.model.installation import Feed, Installation, Problem, PublishedTable
from airflow_ddlrepl.model.names import TableName

AGAIN = "-- run `ddlrepl activate`, as a superuser where event triggers are to be made"
_PUBLICATION = """
SELECT oid || '/' || xmin
FROM pg_catalog.pg_publication p WHERE pubname = %s
"""
_RECORDED = "SELECT to_jsonb(c) ->> 'publication_version' FROM ddlrepl.channel c WHERE publication = %s"
_REFUSED = Path(__file__).with_name("refused_statements.sql").read_text()
_TABLES = Path(__file__).with_name("feed.sql").read_text()


def installation(connection: Connection[Any], publication: str, ddl: DdlCapture) -> Installation:
    """Return what the channel has set up, as it is now. ddl: how the channel file has schema changes detected."""
    now = installed(connection)
    told = (f"{one}: records of schema changes may be missing" for one in differences(connection, now))
    problems = [Problem(what, AGAIN) for what in told]
    if ddl is DdlCapture.TRIGGERS and not problems and not helper_schema.find_helper(connection).has_triggers:
        problems.append(Problem("event triggers are missing or disabled", AGAIN))
    return Installation(now.versions, tuple(problems), _feed(connection, publication))


def refused_statements(connection: Connection[Any], publication: str) -> list[Problem]:
    """Return the tables of which the server refuses the application's UPDATE and DELETE because they are published."""
    ids = sorted(published(connection, publication))
    rows = connection.execute(_REFUSED.encode(), [publication, ids]).fetchall()
    fix = "-- run `ddlrepl activate` as the tables' owner or a superuser"
    return [
        Problem(f"the server refuses UPDATE and DELETE of {TableName(schema, name)}: {why}", fix)
        for schema, name, why in rows
        if why
    ]


def _feed(connection: Connection[Any], publication: str) -> Feed | None:
    row = connection.execute(_PUBLICATION, [publication], prepare=True).fetchone()
    if row is None:
        return None
    (version,) = row
    found = connection.execute(_TABLES.encode(), [publication], prepare=True).fetchall()
    tables = {int(i): PublishedTable(entry, lacks or "") for i, entry, lacks in found}
    is_recorded = helper_schema.find_helper(connection).is_readable and _is_recorded(connection, publication, version)
    return Feed(version, tables, is_recorded)


def _is_recorded(connection: Connection[Any], publication: str, version: str) -> bool:
    """Return whether an event trigger has seen the last change of the publication's options."""
    row = connection.execute(_RECORDED, [publication]).fetchone()
    return row is not None and row[0] == version
