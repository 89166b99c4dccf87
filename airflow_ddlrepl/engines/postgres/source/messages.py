"""This module has PostgreSQL write messages for queues into its log, signed, by the function `ddlrepl.enqueue`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.errors import errors
from airflow_ddlrepl.errors import MessageError

_ENQUEUE = "SELECT ddlrepl.enqueue(%s::text)"
GRANTS = (
    "GRANT USAGE ON SCHEMA ddlrepl, INSERT (message) ON ddlrepl.message and EXECUTE ON FUNCTION ddlrepl.enqueue to it"
)


def send(payloads: Sequence[str], connection: Any) -> None:
    """Write messages into the log in the connection's transaction.

    connection: of psycopg, or of another driver for Python that has %s for a parameter. Raises MessageError as
    `refusals` does, with psycopg.
    """
    cursor = connection.cursor()
    try:
        with refusals():
            for payload in payloads:
                cursor.execute(_ENQUEUE, (payload,))
    finally:
        cursor.close()


def send_alone(connection: Any, payloads: Sequence[str]) -> None:
    """Write messages into the log in a transaction of their own. connection: of psycopg. Raises as `send` does."""
    with connection.transaction():
        send(payloads, connection)


@contextmanager
def refusals() -> Iterator[None]:
    """Raise MessageError MSG-107 where the database takes no messages, MSG-108 where the role may not enqueue them.

    MSG-109: a message is too large.
    """
    try:
        yield
    except (errors().UndefinedFunction, errors().InvalidSchemaName) as error:
        raise MessageError(
            f"the database has no function that takes messages: {_first(error)}",
            code="MSG-107",
            hint="`ddlrepl activate` of a channel that captures there installs it",
        ) from error
    except errors().InsufficientPrivilege as error:
        detail = error.diag.message_detail
        raise MessageError(f"the message is refused: {_first(error)}", code="MSG-108", hint=detail or GRANTS) from error
    except errors().ProgramLimitExceeded as error:
        raise MessageError(
            f"the message is refused: {_first(error)}",
            code="MSG-109",
            hint="send several smaller ones, or raise `limits.message_bytes` in the channel files of the database",
        ) from error


def _first(error: Exception) -> str:
    return str(error).splitlines()[0]
