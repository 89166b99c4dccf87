"""This module opens the database of a lake's catalog.

with writing(location) as connection:  # one transaction; others that write wait for its end
    connection.execute(…)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.errors import DdlReplError, DiskFull, TargetError, Unreachable

PATIENCE = 30.0
"""So many seconds a session waits for others that write."""


def is_there(location: str) -> bool:
    """Is there a catalog?"""
    return location_of(location).database.exists()


@contextmanager
def reading(location: str, seconds: float | None = None) -> Iterator[Connection]:
    """Open a transaction that only reads. seconds: how long to wait for others. Raises Unreachable CON-101."""
    with _explained(), _engine(location_of(location).sql_url, seconds or PATIENCE).begin() as connection:
        yield connection


@contextmanager
def writing(location: str, seconds: float | None = None) -> Iterator[Connection]:
    """Open a transaction that nobody else can write beside; the file is made where it does not exist.

    Raises Unreachable CON-101, DiskFull DSK-103.
    """
    place = location_of(location)
    engine = _engine(place.sql_url, seconds or PATIENCE)
    with _explained():
        if not place.database.exists():
            place.database.parent.mkdir(parents=True, exist_ok=True)
        with engine.execution_options(ddlrepl_write=True).begin() as connection:
            yield connection


@lru_cache
def _engine(url: str, seconds: float) -> Engine:
    engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": seconds})

    @event.listens_for(engine, "connect")
    def _connected(connection: Any, _: object) -> None:
        connection.isolation_level = None  # the driver would begin a transaction only at the first write

    @event.listens_for(engine, "begin")
    def _begun(connection: Connection) -> None:
        writes = connection.get_execution_options().get("ddlrepl_write")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except (DBAPIError, OSError) as error:
        raise explained_sql(error) or error from None


def explained_sql(error: BaseException) -> DdlReplError | None:
    """Return an error of the catalog's database as one that says what to do; None for others."""
    if not isinstance(error, DBAPIError | OSError):
        return None
    reason = redact(" ".join(str(error.orig if isinstance(error, DBAPIError) else error).split()))
    if " is full" in reason or "No space left" in reason:
        return DiskFull(
            f"the disk of a lake is full: {reason}",
            code="DSK-103",
            hint="free space there; what was not committed is not seen, and the next run does it again",
            retryable=True,
        )
    if "locked" in reason:
        return Unreachable(
            f"another process writes to the lake's catalog: {reason}",
            code="CON-101",
            hint="run again when it has ended",
            retryable=True,
        )
    if "not a database" in reason or "malformed" in reason:
        return TargetError(
            f"the catalog of a lake is no SQLite database: {reason}",
            code="TGT-111",
            hint="name another file in the location, or restore it; `ddlrepl activate` goes on from what it has then",
        )
    return Unreachable(
        f"the catalog of a lake can't be used: {reason}",
        code="CON-101",
        hint="see that its folder exists, and that this user may write the file and into the folder",
    )
