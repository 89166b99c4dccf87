"""What every part of the repository needs: fenced writes, and rows that are put where they belong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Table, and_, insert, select, update

from airflow_ddlrepl.errors import Fenced
from airflow_ddlrepl.repository.database import Database
from airflow_ddlrepl.repository.tables import locks


class Base:
    """Holds the database; the parts of Repository derive from it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @contextmanager
    def _fenced(self, channel: str, token: int) -> Iterator[Connection]:
        """A write transaction of the channel's holder. Raises Fenced LCK-102 when the token isn't the newest.

        The lock's row stays locked to the end: nobody takes the channel over in between.
        """
        with self._database.write() as connection:
            query = select(locks.c.token, locks.c.holder).where(locks.c.channel == channel).with_for_update()
            row = connection.execute(query).first()
            if row is None or row.token != token or row.holder is None:
                raise fenced(channel, token, row.token if row else 0, row.holder if row else None)
            yield connection


def fenced(channel: str, token: int, newest: int, holder: str | None) -> Fenced:
    """The error of a run that may not write any more."""
    now = f"{holder} holds it now" if holder and newest != token else "nobody holds it now"
    return Fenced(
        f"this run (token {token}) has lost channel {channel}: {now} (token {newest})",
        code="LCK-102",
        hint="it was silent for longer than lock.lease_seconds; what it tried to write was refused. Run again",
        retryable=True,
    )


def put(connection: Connection, table: Table, key: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Update the row with that key, or insert it. Needs a fenced transaction."""
    where = and_(*(table.c[name] == value for name, value in key.items()))
    if connection.execute(update(table).where(where).values(**values)).rowcount == 0:
        connection.execute(insert(table).values(**key, **values))


def put_new(connection: Connection, table: Table, values: Mapping[str, Any]) -> bool:
    """Insert unless a row with the same key is there; also when two processes try at once. True when inserted."""
    statement: Any = _insert(connection.dialect.name)(table).values(**values).on_conflict_do_nothing()
    statement = statement.returning(*table.primary_key.columns)
    return connection.execute(statement).first() is not None


def _insert(dialect: str) -> Callable[[Table], Any]:
    """The dialect's INSERT. Imports that one alone: the others of PostgreSQL's package cost every command 0.1 s."""
    if dialect == "sqlite":
        from sqlalchemy.dialects.sqlite import insert as of_sqlite

        return of_sqlite
    from sqlalchemy.dialects.postgresql import insert as of_postgresql

    return of_postgresql
