"""This module opens the database of a lake's catalog.

with writing(location) as connection:  # one transaction; others that write wait for its end
    connection.execute(…)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.engines.lake.connection.sql_errors import explained_sql

PATIENCE = 30.0
"""So many seconds a session waits for others that write."""
_WRITES = "ddlrepl_write"
_LOCK = 0x64646C72_6C616B65
"""The number of the advisory lock that whoever writes has: 'ddlrlake' as bytes."""


def is_there(location: str) -> bool:
    """Can the database be read? A file is there when it was made; a server's database always is."""
    file = location_of(location).file
    return file is None or file.exists()


@contextmanager
def reading(location: str, seconds: float | None = None) -> Iterator[Connection]:
    """Open a transaction that only reads, all of it as it was at one moment. seconds: how long to wait for others.

    Raises Unreachable CON-101, CON-102, CON-103 and CON-104.
    """
    place = location_of(location)
    with _explained(place.database), _engine(place.sql_url, seconds or PATIENCE).begin() as connection:
        yield connection


@contextmanager
def writing(location: str, seconds: float | None = None) -> Iterator[Connection]:
    """Open a transaction that nobody else can write beside; a file is made where it does not exist.

    Raises Unreachable CON-101, CON-102, CON-103 and CON-104, DiskFull DSK-103.
    """
    place = location_of(location)
    engine = _engine(place.sql_url, seconds or PATIENCE)
    with _explained(place.database):
        if place.file and not place.file.exists():
            place.file.parent.mkdir(parents=True, exist_ok=True)
        with engine.execution_options(**{_WRITES: True}).begin() as connection:
            yield connection


@lru_cache
def _engine(url: URL, seconds: float) -> Engine:
    return _of_file(url, seconds) if url.get_backend_name() == "sqlite" else _of_server(url, seconds)


def _of_file(url: URL, seconds: float) -> Engine:
    engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": seconds})

    @event.listens_for(engine, "connect")
    def _connected(connection: Any, _: object) -> None:
        connection.isolation_level = None  # the driver would begin a transaction only at the first write

    @event.listens_for(engine, "begin")
    def _begun(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if _is_to_write(connection) else "BEGIN")

    return engine


def _of_server(url: URL, seconds: float) -> Engine:
    """Return an engine for PostgreSQL: one writes after the other, as in a file; who reads sees one moment."""
    settings = {"connect_timeout": max(2, int(seconds)), "application_name": "ddlrepl", "prepare_threshold": None}
    engine = create_engine(url, poolclass=NullPool, connect_args=settings)

    @event.listens_for(engine, "begin")
    def _begun(connection: Connection) -> None:
        if not _is_to_write(connection):
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            return
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {int(seconds * 1000)}")
        connection.exec_driver_sql(f"SELECT pg_catalog.pg_advisory_xact_lock({_LOCK})")

    return engine


def _is_to_write(connection: Connection) -> bool:
    return bool(connection.get_execution_options().get(_WRITES))


@contextmanager
def _explained(database: str) -> Iterator[None]:
    try:
        yield
    except (DBAPIError, OSError) as error:
        raise explained_sql(error, database) or error from None
