"""This module retains log that is captured already: by a second slot of the channel, where that log begins."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import errors
from airflow_ddlrepl.engines.postgres.log import slot_health, slots
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.model.installation import LogHolder
from airflow_ddlrepl.model.position import Position

log = logging.getLogger("ddlrepl")

NAME_BYTES = 63


def held_name(slot: str) -> str:
    """Return the name of the second slot of a channel."""
    ending = "_held"
    return slot[: NAME_BYTES - len(ending)] + ending


def hold(connection: Connection[Any], slot: str, since: Position) -> None:
    """Retain what commits from `since` on, as far as it is there; what is older may go.

    One that is lost (`max_slot_wal_keep_size`) begins again where the channel's slot is.
    Raises SourceError SRC-111 or SRC-118 when it can't be made.
    """
    name = held_name(slot)
    found = slots.state(connection, name)
    if found is not None and found.invalid:
        log.warning("the source no longer holds its log for %s (%s): it does so from now on again", slot, found.invalid)
        slots.drop(connection, name)
        found = None
    with _explain_missing_right():
        if found is None:
            slots.copy(connection, slot, name)
        slots.advance(connection, name, since)


def begins(connection: Connection[Any], slot: str) -> Position | None:
    """Return the position from which on the log is held; None when it is not."""
    found = slots.state(connection, held_name(slot))
    return None if found is None or found.invalid or not found.is_here else found.confirmed


def release(connection: Connection[Any], slot: str) -> bool:
    """Drop the second slot, so that the log is not held any more; return whether it was."""
    found = slots.state(connection, held_name(slot))
    if found is None or not found.is_here:
        return False
    slots.drop(connection, held_name(slot))
    return True


def restore(connection: Connection[Any], slot: str, low: Position) -> bool:
    """Create the channel's slot again, from where the log is held on.

    Returns False, and does nothing, when that begins after `low`.
    """
    since = begins(connection, slot)
    if since is None or since > low:
        return False
    if slots.state(connection, slot) is not None:
        slots.drop(connection, slot)
    with _explain_missing_right():
        slots.copy(connection, held_name(slot), slot)
    return True


@contextmanager
def _explain_missing_right() -> Iterator[None]:
    try:
        yield
    except errors().InsufficientPrivilege as error:
        raise SourceError(
            f"the source's log can't be held: {str(error).splitlines()[0]}",
            code="SRC-118",
            hint="GRANT EXECUTE ON FUNCTION pg_copy_logical_replication_slot(name, name, boolean),"
            " pg_replication_slot_advance(name, pg_lsn) to the source's role, or leave `hold_log` out",
        ) from None


@dataclass(frozen=True, slots=True)
class PostgresRetainedLog:
    """The retained log of a PostgreSQL source is the log that a second slot of the channel holds.

    It implements `engines.source.RetainedLog`. slot: the channel's; its second slot is where the retained log begins.
    """

    connection: Connection[Any]
    slot: str

    def holders(self) -> list[LogHolder]:
        """Return the channel's slot, also where it is missing, and its second one where there is one."""
        found = slot_health.find(self.connection, self.slot, held_name(self.slot))
        first = found.pop(self.slot) if self.slot in found else slot_health.missing(self.slot)
        return [first, *found.values()]

    def hold(self, since: Position) -> None:
        """Retain what commits from a position on. Raises SourceError SRC-111 or SRC-118 when the server can't."""
        hold(self.connection, self.slot, since)

    def held_from(self) -> Position | None:
        """Return the position from which on the server retains captured log; None: it does not."""
        return begins(self.connection, self.slot)

    def release(self) -> None:
        """Let the server forget all log that is captured."""
        release(self.connection, self.slot)
