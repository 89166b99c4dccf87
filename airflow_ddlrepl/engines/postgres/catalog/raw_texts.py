"""This module lets a session to a database in SQL_ASCII read names and texts whatever bytes they have.

Such a server does not look at the bytes of texts; asked for UTF-8 it ends each query that meets others, be it one name
of a thousand. What is no UTF-8 comes escaped: each byte that is no ASCII as `\\xe9`, as ddlrepl.as_utf8 does it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.escaped import escaped

RAW = "SQL_ASCII"
_TEXTS = ("text", "varchar", "bpchar", "name", 18, 705)
"""The others are "char" and unknown."""


@dataclass(frozen=True, slots=True)
class Undecodable:
    """An undecodable value is JSON with bytes that are no UTF-8, as a server has sent it. text: it, escaped."""

    text: str


def read_any_bytes(connection: Connection[Any]) -> None:
    """Let a session read texts with any bytes, if its database is in SQL_ASCII; JSON with such is `Undecodable`."""
    from psycopg.adapt import Loader

    if not is_raw(connection):
        return

    class Text(Loader):
        def load(self, data: Any) -> str:
            return escaped(bytes(data))

    class Json(Loader):
        def load(self, data: Any) -> Any:
            try:
                return json.loads(bytes(data).decode())
            except UnicodeDecodeError:
                return Undecodable(escaped(bytes(data)))

    connection.execute(f"SET client_encoding = '{RAW}'".encode())
    if not connection.autocommit:
        connection.commit()  # a rollback would undo it
    for name in _TEXTS:
        connection.adapters.register_loader(name, Text)
    for name in ("json", "jsonb"):
        connection.adapters.register_loader(name, Json)


def is_raw(connection: Connection[Any]) -> bool:
    """Is the database of the session one that takes any bytes?"""
    return connection.info.parameter_status("server_encoding") == RAW
