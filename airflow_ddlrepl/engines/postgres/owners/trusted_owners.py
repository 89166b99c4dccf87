"""This module stores which roles may own tables of a channel at its target, besides those that the channel file names.

They are the roles of the target's location, now and before, and whoever owned tables of the channel when a version of
the product that does not look at owners had loaded them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.owners.strangers import owned_by_strangers
from airflow_ddlrepl.model.installation import Problem
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table_state import TableStatus

COLUMN = "ALTER TABLE ddlrepl.position ADD COLUMN IF NOT EXISTS owners text[];"
WITH_ROLE = (
    "owners = CASE WHEN current_user = ANY (owners) THEN owners ELSE array_append(owners, current_user::text) END"
)
"""This SQL of an UPDATE adds the session's role to a channel's trusted owners."""


@dataclass
class TrustedOwners:
    """Trusted owners are the roles that may own what a channel uses at its target, besides the session's own.

    owners: those that the channel file names.
    """

    connection: Connection[Any]
    channel: str
    owners: tuple[str, ...] = ()
    _stored: tuple[str, ...] | None = field(default=None, init=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Return their names; the target is asked once for those that are stored there."""
        if self._stored is None:
            self._stored = _stored_owners(self.connection, self.channel)
        return (*self.owners, *self._stored)

    def look_again(self) -> None:
        """Forget which ones are stored: they may be others by now."""
        self._stored = None

    def dangers(self) -> list[Problem]:
        """Return whose tables, schemas and types the channel uses only because they were accepted before."""
        if not {*self.names} - {*self.owners, self.connection.info.user}:
            return []
        with self.connection.cursor() as cursor:
            found = owned_by_strangers(cursor, _loaded(cursor).get(self.channel, {}), self.owners)
        first = {one.owner: one for one in reversed(found)}
        many = Counter(one.owner for one in found)
        return [
            Problem(one.text + (f"; and {many[owner] - 1} more are {owner}'s" if many[owner] > 1 else ""), one.fix)
            for owner, one in sorted(first.items())
        ]


def _stored_owners(connection: Connection[Any], channel: str) -> tuple[str, ...]:
    """Return the names of the roles that are stored; none where the target was never prepared for the channel."""
    import psycopg

    query = "SELECT to_jsonb(p) -> 'owners' FROM ddlrepl.position p WHERE channel = %s"
    try:
        row = connection.execute(query, [channel]).fetchone()
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
        return ()
    return tuple(row[0] or ()) if row is not None else ()


def accept_present_owners(cursor: Any) -> None:
    """Store, for each channel, who owns what its tables use here: they were loaded by a version that took any owner."""
    for channel, tables in _loaded(cursor).items():
        owners = sorted({one.owner for one in owned_by_strangers(cursor, tables, ())})
        cursor.execute("UPDATE ddlrepl.position SET owners = %s WHERE channel = %s", [owners, channel])


_MORE = {
    "instantiations": "SELECT channel, owner, name FROM ddlrepl.instantiations",
    "sequences": "SELECT channel, schema_name, sequence_name FROM ddlrepl.sequences",
}


def _loaded(cursor: Any) -> dict[str, dict[TableName, tuple[()]]]:
    """Return, by channel, what has been loaded here: tables, those that apply processes know the rows of, sequences."""
    cursor.execute("SELECT channel, schema_name, table_name FROM ddlrepl.tables WHERE state <> %s", [TableStatus.NEW])
    rows = cursor.fetchall()
    for table, query in _MORE.items():
        cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [f"ddlrepl.{table}"])
        rows += cursor.execute(query.encode()).fetchall() if cursor.fetchone()[0] else []
    found: defaultdict[str, dict[TableName, tuple[()]]] = defaultdict(dict)
    for channel, schema, name in rows:
        found[channel][TableName(schema, name)] = ()
    return found
