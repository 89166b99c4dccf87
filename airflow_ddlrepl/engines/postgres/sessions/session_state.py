"""What somebody's trigger or function sets in a session of ours is found before anything is committed under it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.quoting import literal
from airflow_ddlrepl.engines.postgres.connection.settings import SESSION

WATCHED = (
    *(name for name in SESSION if not name.startswith("default_")),
    "client_encoding",
    "search_path",
    "role",
    "session_authorization",
    "session_replication_role",
)
"""With another value of one of these, rows are written as other ones, or with other rights."""

STATE = f"ARRAY[{', '.join(f'pg_catalog.current_setting({literal(name)})' for name in WATCHED)}]"
"""This SQL returns the values of `WATCHED` as an array of texts."""


def state_of(cursor: Any) -> tuple[str, ...]:
    """Return the session's settings that our writing relies on, as `WATCHED` lists them."""
    return tuple(cursor.execute(f"SELECT {STATE}".encode()).fetchone()[0])


def changes(before: Sequence[str], now: Sequence[str]) -> str:
    """Return which settings have other values than before, for a message; empty: none."""
    found = zip(WATCHED, before, now, strict=True)
    return ", ".join(f"{name} is {new!r}, was {old!r}" for name, old, new in found if old != new)
