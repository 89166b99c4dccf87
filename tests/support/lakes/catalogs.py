"""The database of a lake's catalog as another program reads it: an SQLite file, or PostgreSQL by its own driver."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg

Query = Callable[[str], list[tuple[Any, ...]]]
"""It runs a statement, and returns the rows."""
OURS = "SELECT {0} FROM {1} WHERE {0} LIKE 'ddlrepl!_%' ESCAPE '!' ORDER BY 1"


@contextmanager
def catalog_of(location: str) -> Iterator[Query]:
    """What the catalog has at one moment; nothing, where there is none yet."""
    parts = urlsplit(location)
    if is_server(location):
        with psycopg.connect(server_url(location)) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            yield lambda text: connection.execute(text.encode()).fetchall()
        return
    if not Path(parts.path).exists():
        yield lambda _: []
        return
    with closing(sqlite3.connect(parts.path, timeout=30, isolation_level=None)) as file:
        file.execute("BEGIN")
        yield lambda text: file.execute(text).fetchall()


def ours(location: str, query: Query) -> list[str]:
    """The names of the product's tables there."""
    at = (
        ("tablename", "pg_tables")
        if is_server(location)
        else ("tbl_name", "(SELECT DISTINCT tbl_name FROM sqlite_master) AS it")
    )
    return [name for (name,) in query(OURS.format(*at))]


def is_server(location: str) -> bool:
    """Is the catalog in PostgreSQL?"""
    return bool(urlsplit(location).netloc)


def server_url(location: str) -> str:
    """The URL of the database for PostgreSQL's driver."""
    parts = urlsplit(location)
    return urlunsplit(("postgresql", parts.netloc, parts.path, "", ""))


def jdbc(location: str) -> dict[str, str]:
    """How Java connects to the database, as a user of the lake writes it."""
    parts = urlsplit(location)
    if not parts.netloc:
        return {"uri": f"jdbc:sqlite:{parts.path}"}
    uri = f"jdbc:postgresql://{parts.hostname}:{parts.port}{parts.path}"
    return {"uri": uri, "jdbc.user": parts.username or "", "jdbc.password": parts.password or ""}
