"""This module creates replication slots without hanging, reads their state, advances and drops them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import errors
from airflow_ddlrepl.engines.postgres.connection.first_row import Ask, over
from airflow_ddlrepl.engines.postgres.connection.quoting import literal
from airflow_ddlrepl.errors import BlockedByOthers, SourceError
from airflow_ddlrepl.model.position import Position

ACTIVE_SECONDS = 10.0
FAILOVER_VERSION = 170000
REMOVED = "its log has been removed"

_STATE_SQL = """
SELECT s.plugin::text, s.database::text, s.confirmed_flush_lsn::text, s.wal_status,
       s.database = current_database(), to_jsonb(s) ->> 'invalidation_reason'
FROM pg_catalog.pg_replication_slots s WHERE s.slot_name = {name}
"""
_BLOCKERS_SQL = """
SELECT format('process %%s (user %%s, database %%s, application %%s, %%s since %%s)', pid, usename, datname,
              quote_literal(application_name), coalesce(state, 'open'),
              coalesce(xact_start::text, 'a time that this role may not see')),
       format('SELECT pg_terminate_backend(%%s);', pid)
FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid()
  AND coalesce(clock_timestamp() - xact_start >= make_interval(secs => %s), true)
UNION ALL
SELECT format('prepared transaction %%s (user %%s, database %%s, since %%s)',
              quote_literal(gid), owner, database, prepared),
       format('COMMIT PREPARED %%s;', quote_literal(gid))
FROM pg_prepared_xacts
"""


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot is a replication slot of the server, in the state that it has now.

    confirmed: transactions that commit before it are gone from the slot. invalid: why it is lost, or empty.
    """

    plugin: str
    database: str | None
    confirmed: Position
    invalid: str
    is_here: bool

    @property
    def is_ours(self) -> bool:
        """Is it a slot of this database that pgoutput decodes?"""
        return self.is_here and self.plugin == "pgoutput"


def state(connection: Connection[Any], name: str) -> Slot | None:
    """Return the slot of that name; None when there is none."""
    return find(over(connection), name)


def find(ask: Ask, name: str) -> Slot | None:
    """Return the slot of that name, over any driver; None when there is none."""
    row = ask(_STATE_SQL.format(name=literal(name)))
    if row is None:
        return None
    plugin, database, confirmed, wal_status, is_here, reason = row
    invalid = reason or (REMOVED if wal_status == "lost" else "")
    return Slot(plugin or "", database, Position.parse(confirmed or "0/0"), invalid, bool(is_here))


def blockers(connection: Connection[Any], seconds: float = 0) -> list[tuple[str, str]]:
    """Return the transactions that the creation of a slot would wait for, each with the statement that ends it.

    It waits for every transaction of the server that has written something, prepared ones included. seconds: only those
    that have been open for so long; where the role may not see since when, all.
    """
    return [(what, sql) for what, sql in connection.execute(_BLOCKERS_SQL, [seconds]).fetchall()]


def create(connection: Connection[Any], name: str, timeout: float) -> Position:
    """Create a slot and return its first position.

    Waits `timeout` seconds for transactions that are open now.
    Standbys that synchronise slots get it, too (version 17 and later), and have it when they are promoted.
    Raises SourceError SRC-110 that names them, SRC-105 without the right to, SRC-111 when no slot is free.
    """
    options = ", failover => true" if connection.info.server_version >= FAILOVER_VERSION else ""
    with connection.transaction():
        limits = [("statement_timeout", str(int(timeout * 1000))), ("lock_timeout", "0")]
        for name_and_value in limits:
            connection.execute("SELECT set_config(%s, %s, true)", name_and_value)
        try:
            with connection.transaction(), _explain_no_free_slot():
                row = connection.execute(
                    f"SELECT lsn::text FROM pg_create_logical_replication_slot(%s, 'pgoutput'{options})".encode(),
                    [name],
                ).fetchone()
        except errors().QueryCanceled:
            raise blocked(connection, name) from None
        except errors().InsufficientPrivilege:
            raise no_replication(over(connection)) from None
    assert row is not None
    return Position.parse(row[0])


def copy(connection: Connection[Any], name: str, to: str) -> None:
    """Create another slot at the position of this one.

    Waits for nobody; a standby that synchronises slots has it not.
    Raises SourceError SRC-103 when the slot is lost, SRC-111 when none is free.
    """
    with _explain_no_free_slot(), explain_lost_slot(connection, name):
        connection.execute("SELECT pg_copy_logical_replication_slot(%s, %s, false)", [name, to])


@contextmanager
def _explain_no_free_slot() -> Iterator[None]:
    try:
        yield
    except errors().ConfigurationLimitExceeded:
        raise none_free() from None


def none_free() -> SourceError:
    """Return SourceError SRC-111: the server has no slot left, neither a lasting one nor one for a reader's copy."""
    return SourceError(
        "all replication slots are in use",
        code="SRC-111",
        hint="ALTER SYSTEM SET max_replication_slots = 20; and restart, or drop a slot that nobody reads,"
        " or capture with fewer parallel tasks",
    )


def advance(connection: Connection[Any], name: str, to: Position) -> None:
    """Let the server forget what commits before `to`; do nothing when the slot is there already.

    Raises SourceError SRC-103 when the slot is lost, SRC-114 when somebody else has it in use.
    """
    deadline = time.monotonic() + ACTIVE_SECONDS
    while True:
        slot = state(connection, name)
        if slot is None or to <= slot.confirmed:
            return
        try:
            with explain_lost_slot(connection, name):
                connection.execute("SELECT pg_replication_slot_advance(%s, %s::pg_lsn)", [name, str(to)])
            return
        except errors().ObjectInUse as error:
            if time.monotonic() > deadline:
                raise busy(name, error) from None
            time.sleep(0.1)


@contextmanager
def explain_lost_slot(connection: Connection[Any], name: str) -> Iterator[None]:
    """Raise SourceError SRC-103 when what is done with the slot inside the `with` fails because the slot is lost."""
    try:
        yield
    except (errors().ObjectNotInPrerequisiteState, errors().UndefinedFile):
        slot = state(connection, name)
        if slot is None or not slot.invalid:
            raise
        raise lost(name, slot.invalid) from None


def lost(name: str, reason: str, at: Position | None = None) -> SourceError:
    """Return SourceError SRC-103: the slot can't be read any more."""
    return SourceError(
        f"the replication slot {name} is lost: {reason}",
        code="SRC-103",
        at=at,
        hint=f"SELECT pg_drop_replication_slot({literal(name).strip()}); then `ddlrepl activate`:"
        f" what was missed comes by a refresh. {prevention(reason)}",
    )


def prevention(reason: str) -> str:
    """Return what prevents that a slot is lost for this reason, which is the server's word."""
    known = {
        "idle_timeout": "Run cycles more often than idle_replication_slot_timeout, or set that to 0",
        "rows_removed": "A primary keeps what a slot needs; do not capture from a standby's copy of it",
        "wal_level_insufficient": "Keep wal_level at logical",
    }
    return known.get(reason, "A larger max_slot_wal_keep_size prevents it")


def drop(connection: Connection[Any], name: str) -> None:
    """Drop the slot. Raises SourceError SRC-114 when somebody reads it."""
    try:
        connection.execute("SELECT pg_drop_replication_slot(%s)", [name])
    except errors().ObjectInUse as error:
        raise busy(name, error) from None


def no_replication(ask: Ask) -> SourceError:
    """Return SourceError SRC-105: this role may not use slots."""
    row = ask("SELECT current_user::text, quote_ident(current_user)")
    assert row is not None
    return SourceError(
        f"{row[0]} may not use replication slots", code="SRC-105", hint=f"ALTER ROLE {row[1]} REPLICATION;"
    )


def blocked(connection: Connection[Any], name: str) -> BlockedByOthers:
    """Return the error SRC-110: the slot would wait for open transactions, which it names."""
    rows = blockers(connection)
    who = "; ".join(what for what, _ in rows) or "transactions that have ended in the meantime"
    return BlockedByOthers(
        f"the slot {name} can't be created while transactions are open that began before it: {who}",
        code="SRC-110",
        hint="end them and run again, for example: " + " ".join(sql for _, sql in rows),
        retryable=True,
    )


def busy(name: str, error: BaseException) -> SourceError:
    """Return SourceError SRC-114: another session reads the slot."""
    return SourceError(
        str(error).splitlines()[0],
        code="SRC-114",
        hint="SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots"
        f" WHERE active AND slot_name = {literal(name).strip()};",
        retryable=True,
    )
