"""This module writes messages for queues into the log of a PostgreSQL server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_ddlrepl.queues.messages import PREFIX

_EMIT = "SELECT pg_logical_emit_message(true, %s::text, %s::text)"


def send(payloads: Sequence[str], connection: Any) -> None:
    """Write messages into the log in the connection's transaction.

    connection: of psycopg, or of another driver for Python that has %s for a parameter.
    """
    cursor = connection.cursor()
    try:
        for payload in payloads:
            cursor.execute(_EMIT, (PREFIX, payload))
    finally:
        cursor.close()


def send_alone(connection: Any, payloads: Sequence[str]) -> None:
    """Write messages into the log in a transaction of their own. connection: of psycopg."""
    with connection.transaction():
        send(payloads, connection)
