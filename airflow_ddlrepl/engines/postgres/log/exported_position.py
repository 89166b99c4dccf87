"""This module exports a snapshot of a PostgreSQL source together with the position of the log that it shows exactly."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.connection.first_row import over
from airflow_ddlrepl.engines.postgres.log.replication_protocol import command_link, refused
from airflow_ddlrepl.engines.postgres.log.slots import blocked, no_replication, none_free
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.model.position import Position

_TUPLES_OK = 2
_LOCK_NOT_AVAILABLE, _INSUFFICIENT_PRIVILEGE, _NONE_FREE = "55P03", "42501", "53400"


@contextlib.contextmanager
def exported_position(dsn: str, timeout: float) -> Iterator[tuple[Position, str]]:
    """Export a snapshot; it can be taken over by other sessions inside the `with`.

    It contains each transaction whose commit record is in front of the position, and no other: a logical slot, which
    lives as long as the connection, gives both. `timeout`: seconds to wait for transactions that are open now.
    Raises SourceError SRC-110 that names them, SRC-105 without the right to use slots, SRC-111 when none is free.
    """
    name = f"ddlrepl_load_{uuid.uuid4().hex[:16]}"
    with command_link(dsn) as link:
        link.exec_(f"SET lock_timeout = '{int(timeout * 1000)}ms'".encode())
        answer = link.exec_(f"CREATE_REPLICATION_SLOT {name} TEMPORARY LOGICAL pgoutput (SNAPSHOT 'export')".encode())
        if answer.status != _TUPLES_OK:
            raise _explained(dsn, name, answer)
        _, position, snapshot = (_text(answer, column) for column in range(3))
        yield Position.parse(position), snapshot


def _text(result: Any, column: int) -> str:
    return bytes(result.get_value(0, column) or b"").decode()


def _explained(dsn: str, name: str, result: Any) -> SourceError:
    from psycopg.pq import DiagnosticField

    state = bytes(result.error_field(DiagnosticField.SQLSTATE) or b"").decode()
    if state == _NONE_FREE:
        return none_free()
    with session(dsn) as connection:
        if state == _LOCK_NOT_AVAILABLE:
            return blocked(connection, name)
        if state == _INSUFFICIENT_PRIVILEGE:
            return no_replication(over(connection))
    return refused(result.error_message.decode(errors="replace"), Position(0))
