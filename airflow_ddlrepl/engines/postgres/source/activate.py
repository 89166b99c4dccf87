"""This module sets up a source for a channel (activation), and removes what it has set up (deactivation)."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from airflow_ddlrepl.config.sections.ignored_sessions import NO_SESSIONS, IgnoredSessions
from airflow_ddlrepl.config.sections.policies import DdlCapture, ReplicaIdentity
from airflow_ddlrepl.config.sections.retention import LARGEST_MESSAGE
from airflow_ddlrepl.config.sections.scope import Scope
from airflow_ddlrepl.engines.postgres.catalog.inspect import listed, with_partitions
from airflow_ddlrepl.engines.postgres.catalog.server_facts import publishes_generated
from airflow_ddlrepl.engines.postgres.connection.advisory_lock import PATIENCE, AdvisoryLock
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import errors
from airflow_ddlrepl.engines.postgres.connection.first_row import over
from airflow_ddlrepl.engines.postgres.connection.quoting import qualified, quote
from airflow_ddlrepl.engines.postgres.log import preconditions, retained_slot, slots
from airflow_ddlrepl.engines.postgres.source import helper_schema, membership, session_triggers
from airflow_ddlrepl.engines.postgres.source.scope_patterns import stored
from airflow_ddlrepl.engines.source import Activation
from airflow_ddlrepl.errors import PublicationReplaced, SourceError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.ports.progress import each
from airflow_ddlrepl.scope.client import Client
from airflow_ddlrepl.scope.decide import ChangeKind, decide

log = logging.getLogger("ddlrepl")

_FOR_A_MOMENT = ("SELECT set_config('lock_timeout', %s, true)", ["2s"])
GENERATED_VERSION = 180000
_GENERATED = "publish_generated_columns = stored"
_NAME_SESSIONS = "SELECT ddlrepl.name_sessions(%s, %s::bigint::oid)"
Result = TypeVar("Result")
_IDENTITY = "its replica identity or publication can't be set while it is locked by"
_OURS = "publication and helper schema can't be removed while a schema change uses them, of"
_ONE_AT_A_TIME = AdvisoryLock("ddlrepl.activate", "another activation has to end first", SourceError, "SRC-127")


@dataclass(frozen=True, slots=True)
class SourceSetup:
    """A source setup says what a source is to look like for a channel.

    again: with another slot than the one that may be there.
    low: where a channel that was active goes on; None: it was not. sessions: whose changes are ignored. message_bytes:
    of the largest message that applications may enqueue.
    """

    channel: str
    publication: str
    slot: str
    scope: Scope
    replica_identity: ReplicaIdentity
    ddl: DdlCapture
    patience: float
    again: bool = False
    low: Position | None = None
    sessions: IgnoredSessions = NO_SESSIONS
    message_bytes: int = LARGEST_MESSAGE


def activate(connection: Connection[Any], wanted: SourceSetup) -> Activation:
    """Set up the source: publication first, slot second.

    The slot must never be able to give rows from before the publication.
    Raises SourceError SRC-101, SRC-105, SRC-107, SRC-109, SRC-110, SRC-111, SRC-112, SRC-113, SRC-122, SRC-127.
    """
    preconditions.require_server(over(connection))
    preconditions.require_replication(over(connection))
    _ONE_AT_A_TIME.take_for_session(connection, wanted.patience + PATIENCE)  # another channel's may take its time
    try:
        may_prepare = _may_prepare(connection, wanted)
        changes = _prepare(connection, wanted) if may_prepare else []
        if wanted.sessions.has_triggers:
            session_triggers.require_all(connection, wanted.channel, wanted.sessions)
        restored = _from_held_log(connection, wanted)
        position, is_new = _slot(connection, wanted)
        if restored:
            changes.append(f"slot {wanted.slot} again, from {position}")
        if is_new:
            changes.append(f"slot {wanted.slot} at {position}")
            if may_prepare:
                _remember_slot(connection, wanted, position)
        return Activation(
            position, tuple(changes), is_new, helper_schema.find_helper(connection).has_triggers, restored
        )
    finally:
        connection.execute("SELECT pg_advisory_unlock_all()")


def deactivate(connection: Connection[Any], wanted: SourceSetup) -> list[str]:
    """Remove slot, publication, replica identities that were set, and with the last channel the helper schema.

    Raises SourceError SRC-109 where somebody holds what has to go; what is gone then is gone, and it can be run again.
    """
    changes: list[str] = []
    slot = slots.state(connection, wanted.slot)
    if slot is not None and slot.is_ours:
        preconditions.require_server(over(connection))
        slots.drop(connection, wanted.slot)
        changes.append(f"slot {wanted.slot} dropped")
    if retained_slot.release(connection, wanted.slot):
        changes.append(f"slot {retained_slot.held_name(wanted.slot)} dropped")
    if preconditions.publication_id(over(connection), wanted.publication) is not None:
        drop = f"DROP PUBLICATION {quote(wanted.publication)}".encode()
        _in_time(connection, wanted, partial(connection.execute, drop))
        changes.append(f"publication {wanted.publication} dropped")
    if helper_schema.find_helper(connection).is_readable:
        for (member,) in connection.execute(
            "SELECT table_id::bigint FROM ddlrepl.member WHERE channel = %s", [wanted.channel]
        ).fetchall():
            _put_back(connection, wanted, member)
        if _in_time(connection, wanted, partial(_forget, connection, wanted)):
            changes.append("helper schema ddlrepl dropped")
    return changes


def _forget(connection: Connection[Any], wanted: SourceSetup) -> bool:
    """Remove the channel from the helper schema; return whether it was the last one: then the schema is gone, too."""
    connection.execute("DELETE FROM ddlrepl.channel WHERE name = %s", [wanted.channel])
    if connection.execute("SELECT FROM ddlrepl.channel").fetchone() is not None:
        return False
    helper_schema.remove(connection)
    return True


def _may_prepare(connection: Connection[Any], wanted: SourceSetup) -> bool:
    """Return False when an administrator has made the publication and this role may only read."""
    if preconditions.publication_id(over(connection), wanted.publication) is None:
        return True
    row = connection.execute(
        "SELECT has_database_privilege(current_database(), 'CREATE') AND"
        " pg_has_role(pubowner, 'USAGE') FROM pg_publication WHERE pubname = %s",
        [wanted.publication],
    ).fetchone()
    return row is not None and bool(row[0])


def _prepare(connection: Connection[Any], wanted: SourceSetup) -> list[str]:
    changes = helper_schema.install(connection, wanted.ddl)
    if preconditions.publication_id(over(connection), wanted.publication) is None:
        connection.execute(f"CREATE PUBLICATION {quote(wanted.publication)}".encode())
        changes.append(f"publication {wanted.publication}")
    if not publishes_generated(connection, wanted.publication) and connection.info.server_version >= GENERATED_VERSION:
        connection.execute(f"ALTER PUBLICATION {quote(wanted.publication)} SET ({_GENERATED})".encode())
        changes.append(f"publication {wanted.publication} carries stored generated columns")
    if _register(connection, wanted):
        changes.append(f"channel {wanted.channel}")
    changes += release_excluded(connection, wanted)
    changes += _set_up_tables(connection, wanted)
    return changes


def _register(connection: Connection[Any], wanted: SourceSetup) -> bool:
    """Write the channel's row; return False when it is the same already."""
    row = connection.execute(
        """
        INSERT INTO ddlrepl.channel AS c (name, publication, slot, scope, replica_identity)
        VALUES (%s, %s, %s, %s::jsonb, %s)
        ON CONFLICT (name) DO UPDATE SET publication = excluded.publication, slot = excluded.slot,
            scope = excluded.scope, replica_identity = excluded.replica_identity
        WHERE (c.publication, c.slot, c.scope, c.replica_identity) IS DISTINCT FROM
            (excluded.publication, excluded.slot, excluded.scope, excluded.replica_identity)
        RETURNING 1
        """,
        [
            wanted.channel,
            wanted.publication,
            wanted.slot,
            json.dumps(stored(wanted.scope, session_triggers.condition(wanted.sessions), wanted.message_bytes)),
            wanted.replica_identity.value,
        ],
    ).fetchone()
    return row is not None


def release_excluded(connection: Connection[Any], wanted: SourceSetup) -> list[str]:
    """Remove tables that a changed channel file excludes from the publication; return what was done."""
    rows = connection.execute(
        "SELECT m.table_id::bigint, n.nspname, c.relname, EXISTS (SELECT FROM pg_publication_rel r"
        " JOIN pg_publication p ON p.oid = r.prpubid WHERE p.pubname = %s AND r.prrelid = m.table_id)"
        " FROM ddlrepl.member m JOIN pg_class c ON c.oid = m.table_id JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE m.channel = %s",
        [wanted.publication, wanted.channel],
    ).fetchall()
    changes: list[str] = []
    for table_id, schema, name, is_published in rows:
        table = TableName(schema, name)
        if not decide(Client(wanted.scope), table, ChangeKind.TABLE).is_excluded:
            continue
        alter = f"ALTER PUBLICATION {quote(wanted.publication)} DROP TABLE ONLY {qualified(table)}"
        _put_back(connection, wanted, table_id, alter if is_published else "")
        changes.append(f"table {table}: excluded")
    return changes


def _set_up_tables(connection: Connection[Any], wanted: SourceSetup) -> list[str]:
    """Bring each table of the channel into its state: a few in a transaction, so that no lock is there for long.

    One that somebody else holds gets a transaction of its own.
    """
    client, every = Client(wanted.scope), listed(connection, Scope())
    chosen = [i for i, name in every if decide(client, name, ChangeKind.TABLE).is_taken]
    names = with_partitions(connection, chosen)
    members = {i: name for i, name in names.items() if not decide(client, name, ChangeKind.TABLE).is_excluded}
    before = _members(connection, wanted)
    every_member = list(dict.fromkeys([*members, *(i for i, state in before.items() if state != "bystander")]))
    done: dict[int, str] = {}
    for place, table_id in enumerate(each(every_member, "tables are set up at the source")):
        if place % membership.BATCH == 0:
            done = membership.set_up_many(connection, wanted.channel, every_member[place : place + membership.BATCH])
        if table_id not in done:
            _set_up_table(connection, wanted, table_id)
    for table_id in session_triggers.due(connection, wanted.channel, wanted.sessions):
        with suppress(errors().InsufficientPrivilege):  # `require_all` says so
            name = partial(connection.execute, _NAME_SESSIONS, [wanted.channel, table_id])
            _in_time(connection, wanted, name, table_id)
    others = ((i, name) for i, name in every if i not in members)
    joining = {i: name for i, name in others if decide(client, name, ChangeKind.NEW_TABLE).is_taken}
    remember_bystanders(connection, wanted, joining)
    after = _members(connection, wanted)
    return [f"table {names.get(i, i)}: {state}" for i, state in after.items() if before.get(i) != state]


def _set_up_table(connection: Connection[Any], wanted: SourceSetup, table_id: int) -> None:
    """Bring one table into its state; wait for locks up to the channel's patience.

    Raises SourceError SRC-109 with who holds them.
    """
    deadline = time.monotonic() + wanted.patience
    while True:
        with connection.transaction():
            connection.execute(*_FOR_A_MOMENT)
            membership.set_up_one(connection, wanted.channel, table_id)
        if not membership.is_held(connection, wanted.channel, table_id):
            return
        if time.monotonic() > deadline:
            raise _locked(connection, table_id)


def _put_back(connection: Connection[Any], wanted: SourceSetup, table_id: int, first: str = "") -> None:
    """Set the replica identity of a table back to what it was.

    first: a statement of the same transaction.
    Waits for locks as `_tend`. Raises SourceError SRC-109 with who holds them.
    """

    def put_back() -> None:
        if first:
            connection.execute("SELECT ddlrepl.run_own(%s)", [first])
        connection.execute("SELECT ddlrepl.put_back(%s, %s::bigint::oid)", [wanted.channel, table_id])

    _in_time(connection, wanted, put_back, table_id)


def _in_time(
    connection: Connection[Any], wanted: SourceSetup, work: Callable[[], Result], table_id: int | None = None
) -> Result:
    """Do work in a transaction, again and again up to the channel's patience: nobody waits behind us for long.

    table_id: of what is locked if it can't be done; None: tables of ours. Raises SourceError SRC-109 with who holds it.
    """
    deadline = time.monotonic() + wanted.patience
    while True:
        try:
            with connection.transaction():
                connection.execute(*_FOR_A_MOMENT)
                return work()
        except errors().LockNotAvailable:
            if time.monotonic() > deadline:
                raise _locked(connection, table_id) from None


def _locked(connection: Connection[Any], table_id: int | None) -> SourceError:
    """Return the error SRC-109, which says who has locked a table.

    table_id: None for tables of ours.
    """
    rows = connection.execute(
        "SELECT DISTINCT a.pid, a.usename, a.application_name, a.state"
        " FROM pg_locks l JOIN pg_stat_activity a USING (pid) JOIN pg_class c ON c.oid = l.relation"
        " WHERE coalesce(c.oid = %s::bigint::oid, c.relnamespace = to_regnamespace('ddlrepl'))"
        " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        " AND l.granted AND a.pid <> pg_backend_pid()",
        [table_id],
    ).fetchall()
    named = connection.execute(
        "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE c.oid = %s::bigint::oid",
        [table_id],
    ).fetchone()
    who = "; ".join(f"process {p} (user {u}, application {a!r}, {s})" for p, u, a, s in rows) or "somebody"
    return SourceError(
        f"{_OURS if table_id is None else _IDENTITY} {who}",
        code="SRC-109",
        table=TableName(*named) if named else None,
        hint="end them and run again: " + " ".join(f"SELECT pg_terminate_backend({row[0]});" for row in rows),
        retryable=True,
    )


def remember_bystanders(connection: Connection[Any], wanted: SourceSetup, tables: dict[int, TableName]) -> None:
    """Store tables that are not in the channel though a new one of that name would be: they are older."""
    connection.execute(
        "INSERT INTO ddlrepl.member (channel, table_id, schema_name, table_name, state)"
        " SELECT %s, i::oid, s, n, 'bystander' FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS t(i, s, n)"
        " WHERE NOT EXISTS (SELECT FROM ddlrepl.member m WHERE m.channel = %s AND m.table_id = t.i::oid)"
        " ON CONFLICT DO NOTHING",  # it alone would wait for whoever is about to drop one that we know
        [
            wanted.channel,
            list(tables),
            [n.schema for n in tables.values()],
            [n.name for n in tables.values()],
            wanted.channel,
        ],
    )


def _from_held_log(connection: Connection[Any], wanted: SourceSetup) -> bool:
    """Create a lost slot, or one beyond the channel's position, again where the log is held.

    Return whether that was done.
    """
    slot = slots.state(connection, wanted.slot)
    if wanted.low is None or wanted.again or (slot is not None and not slot.invalid and slot.confirmed <= wanted.low):
        return False
    try:
        _require_publication(connection, wanted)
    except SourceError as error:
        log.warning("the log that is held can't be read: %s", error.message)
        return False
    return retained_slot.restore(connection, wanted.slot, wanted.low)


def _slot(connection: Connection[Any], wanted: SourceSetup) -> tuple[Position, bool]:
    """Create the slot; again when it is lost, older than its publication, or another one is wanted.

    Returns its position, and whether it was created.
    """
    slot = slots.state(connection, wanted.slot)
    if slot is not None and (not slot.is_ours or (not slot.invalid and not wanted.again)):
        preconditions.require_slot(over(connection), wanted.slot)
        try:
            _require_publication(connection, wanted)
            return slot.confirmed, False
        except PublicationReplaced:
            log.info("the publication %s is younger than the slot, which is created again", wanted.publication)
    if slot is not None:
        slots.drop(connection, wanted.slot)
    return slots.create(connection, wanted.slot, wanted.patience), True


def _require_publication(connection: Connection[Any], wanted: SourceSetup) -> None:
    known = helper_schema.known_publication(connection, wanted.channel)
    preconditions.require_publication(over(connection), wanted.publication, known)


def _remember_slot(connection: Connection[Any], wanted: SourceSetup, position: Position) -> None:
    connection.execute(
        "UPDATE ddlrepl.channel SET slot_created = %s::pg_lsn, publication_id = %s WHERE name = %s",
        [str(position), preconditions.publication_id(over(connection), wanted.publication), wanted.channel],
    )


def _members(connection: Connection[Any], wanted: SourceSetup) -> dict[int, str]:
    """Return the states of the channel's tables by id."""
    rows = connection.execute(
        "SELECT table_id::bigint, state FROM ddlrepl.member WHERE channel = %s", [wanted.channel]
    ).fetchall()
    return {int(i): state for i, state in rows}
