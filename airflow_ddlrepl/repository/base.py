"""This module has what every part of the repository needs: fenced write transactions, and single-row writes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from sqlalchemy import Connection, Table, Update, and_, bindparam, insert, select, update

from airflow_ddlrepl.errors import Fenced
from airflow_ddlrepl.repository.database import Database
from airflow_ddlrepl.repository.stored.tables import locks

# Statements that a cycle runs again and again are made once: making one costs more than SQLite takes to run it.
_HOLDER = select(locks.c.token, locks.c.holder).where(locks.c.channel == bindparam("channel")).with_for_update()


class Base:
    """A base object holds the database connection; each part of `Repository` derives from it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._joined = threading.local()

    @contextmanager
    def together(self, channel: str, token: int) -> Iterator[None]:
        """Make all that this thread writes for the channel's holder inside the `with` one transaction."""
        with self._fenced(channel, token) as connection:
            self._joined.connection = connection
            try:
                yield
            finally:
                self._joined.connection = None

    @contextmanager
    def _fenced(self, channel: str, token: int) -> Iterator[Connection]:
        """Open a write transaction of the channel's holder; raise Fenced LCK-102 when the token isn't the newest.

        The lock's row stays locked to the end: nobody takes the channel over in between.
        """
        joined: Connection | None = getattr(self._joined, "connection", None)
        if joined is not None:
            yield joined
            return
        with self._database.write() as connection:
            row = connection.execute(_HOLDER, {"channel": channel}).first()
            if row is None or row.token != token or row.holder is None:
                raise fenced(channel, token, row.token if row else 0, row.holder if row else None)
            yield connection


def fenced(channel: str, token: int, newest: int, holder: str | None) -> Fenced:
    """Return the error of a run that has lost its channel and may not write any more."""
    now = f"{holder} holds it now" if holder and newest != token else "nobody holds it now"
    return Fenced(
        f"this run (token {token}) has lost channel {channel}: {now} (token {newest})",
        code="LCK-102",
        hint="it did not renew its lock for longer than lock.lease_seconds; its writes were refused. Run again",
        retryable=True,
    )


def upsert(connection: Connection, table: Table, key: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Update the row with this key, or insert it; needs a fenced transaction."""
    if not update_row(connection, table, key, values):
        connection.execute(insert(table).values(**key, **values))


def update_row(connection: Connection, table: Table, key: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    """Update the row with this key, and return False when there is none; needs a fenced transaction."""
    at = {f"at_{name}": value for name, value in key.items()}
    return connection.execute(_update(table, tuple(key)), {**at, **values}).rowcount > 0


@cache
def _update(table: Table, key: tuple[str, ...]) -> Update:
    """Return the UPDATE of the row whose key is in the parameters at_…; the other parameters are its new values."""
    return update(table).where(and_(*(table.c[name] == bindparam(f"at_{name}") for name in key)))


def insert_new(connection: Connection, table: Table, values: Mapping[str, Any]) -> bool:
    """Insert the row unless one with its key exists, also when two processes try at once; return True when inserted."""
    return connection.execute(_insert_new(connection.dialect.name, table), dict(values)).first() is not None


def insert_new_all(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert those of the rows whose keys no row has yet, as one statement; needs a fenced transaction."""
    if rows:
        connection.execute(_insert_new_all(connection.dialect.name, table), [dict(row) for row in rows])


def put_all(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows, or update those whose keys are there, as one statement; needs a fenced transaction.

    Each has all columns, and a key of its own.
    """
    if rows:
        connection.execute(_put_all(connection.dialect.name, table), [dict(row) for row in rows])


@cache
def _insert_new(dialect: str, table: Table) -> Any:
    return _insert_new_all(dialect, table).returning(*table.primary_key.columns)


@cache
def _insert_new_all(dialect: str, table: Table) -> Any:
    return _insert(dialect)(table).on_conflict_do_nothing()


@cache
def _put_all(dialect: str, table: Table) -> Any:
    made = _insert(dialect)(table)
    rest = {c.name: made.excluded[c.name] for c in table.columns if not c.primary_key}
    return made.on_conflict_do_update(index_elements=list(table.primary_key.columns), set_=rest)


def _insert(dialect: str) -> Callable[[Table], Any]:
    """Return the dialect's INSERT; import no other one, for PostgreSQL's package costs every command 0.1 s."""
    if dialect == "sqlite":
        from sqlalchemy.dialects.sqlite import insert as of_sqlite

        return of_sqlite
    from sqlalchemy.dialects.postgresql import insert as of_postgresql

    return of_postgresql
