"""This module compares a channel file's scope with what its source has stored of it, and carries out what has changed.

A capture does it. No application waits for long behind it: a table that is locked is published by a later capture.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from airflow_ddlrepl.config.sections.scope import Scope
from airflow_ddlrepl.engines.postgres.catalog.inspect import listed, with_partitions
from airflow_ddlrepl.engines.postgres.catalog.sizes import LOCK_TIMEOUT
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.source import helper_schema, membership, session_triggers
from airflow_ddlrepl.engines.postgres.source.activate import SourceSetup, release_excluded, remember_bystanders
from airflow_ddlrepl.engines.postgres.source.scope_patterns import PENDING, differing_keys, stored
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.scope.client import Client
from airflow_ddlrepl.scope.decide import ChangeKind, decide

_STORED = "SELECT scope, replica_identity FROM ddlrepl.channel WHERE name = %s"
_MAY_CHANGE = """
SELECT has_table_privilege('ddlrepl.channel', 'UPDATE') AND has_table_privilege('ddlrepl.member', 'INSERT')
    AND has_database_privilege(current_database(), 'CREATE') AND pg_has_role(p.pubowner, 'USAGE')
FROM pg_publication p WHERE p.pubname = %s
"""
_MEMBERS = "SELECT table_id::bigint, parent FROM ddlrepl.member WHERE channel = %s AND state <> 'bystander'"
STAYS = "no pattern of `tables` matches it, and it stays in the channel until `exclude` names it"
_STORE = "UPDATE ddlrepl.channel SET scope = %s::jsonb, replica_identity = %s WHERE name = %s"


def changed_keys(connection: Connection[Any], wanted: SourceSetup) -> list[str]:
    """Return the keys of the channel file that say something else than the source has stored of it."""
    row = connection.execute(_STORED, [wanted.channel], prepare=True).fetchone()
    if row is None:
        return []
    new = {**_wanted(wanted), "replica_identity": wanted.replica_identity.value}
    return differing_keys({**row[0], "replica_identity": row[1]}, new)


def may_change(connection: Connection[Any], wanted: SourceSetup) -> bool:
    """May this role store another scope, and publish tables?"""
    row = connection.execute(_MAY_CHANGE, [wanted.publication]).fetchone()
    return row is not None and bool(row[0])


def take_over(connection: Connection[Any], wanted: SourceSetup) -> list[str]:
    """Bring the source up to the channel file; return which tables join and leave.

    What is cut short is done again by the next call: until the end the source has the scope as pending.
    """
    helper_schema.install(connection, wanted.ddl)
    scope, identity = _wanted(wanted), wanted.replica_identity.value
    connection.execute(_STORE, [json.dumps({**scope, PENDING: True}), identity, wanted.channel])
    changes = release_excluded(connection, wanted)
    new, names = unpublished(connection, wanted), dict(listed(connection, Scope()))
    for table_id, name in new.items():
        with connection.transaction():
            connection.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'".encode())
            changes.append(f"table {name}: {membership.set_up_one(connection, wanted.channel, table_id)}")
    # These are tables whose old rows the log has to have whole from now on.
    outcomes = membership.maintain(connection, wanted.channel)
    changes += [f"table {names.get(i, i)}: {state}" for i, state in outcomes.items() if i not in new]
    client = Client(wanted.scope)
    others = {i: n for i, n in names.items() if i not in new and decide(client, n, ChangeKind.NEW_TABLE).is_taken}
    remember_bystanders(connection, wanted, others)
    connection.execute(_STORE, [json.dumps(scope), identity, wanted.channel])
    return changes + [f"table {name}: {STAYS}" for name in _unmatched(connection, wanted, names)]


def _unmatched(connection: Connection[Any], wanted: SourceSetup, names: Mapping[int, TableName]) -> list[TableName]:
    """Return the tables of the channel that no pattern of the file matches: they stay, as after a rename."""
    client = Client(wanted.scope)
    rows = connection.execute(_MEMBERS, [wanted.channel]).fetchall()
    found = [names[int(i)] for i, parent in rows if parent is None and int(i) in names]
    kinds = (ChangeKind.TABLE, ChangeKind.NEW_TABLE)
    return sorted(name for name in found if not any(decide(client, name, kind).is_taken for kind in kinds))


def unpublished(connection: Connection[Any], wanted: SourceSetup) -> dict[int, TableName]:
    """Return the tables that the channel file names and that are not in the channel, with their partitions, by id."""
    client = Client(wanted.scope)
    chosen = [i for i, n in listed(connection, Scope()) if decide(client, n, ChangeKind.TABLE).is_taken]
    known = connection.execute(
        "SELECT table_id::bigint FROM ddlrepl.member WHERE channel = %s AND state <> 'bystander'", [wanted.channel]
    )
    members = {int(i) for (i,) in known}
    tables = with_partitions(connection, [i for i in chosen if i not in members])
    return {i: n for i, n in tables.items() if i not in members and not decide(client, n, ChangeKind.TABLE).is_excluded}


def _wanted(wanted: SourceSetup) -> dict[str, Any]:
    return stored(wanted.scope, session_triggers.condition(wanted.sessions), wanted.message_bytes)
