"""This module says where a client is in a feed: a position of the log, or a window of a synchronous capture."""

from __future__ import annotations

from airflow_ddlrepl.engines.abilities.sync_capture import NUMBER_BITS
from airflow_ddlrepl.flow.streams.feed import Feed
from airflow_ddlrepl.model.position import BEGINNING, LogKey, Position
from airflow_ddlrepl.streams.messages import MessageClass


def read_before(at: Position | None) -> LogKey:
    """Return the last place in front of a position, up to which a client has read; None: it has read nothing."""
    return BEGINNING if not at else LogKey.last_before(at)


def place_text(feed: Feed, read: LogKey) -> str | None:
    """Return where a client is that has read a feed up to a place, for people; None: at the feed's beginning.

    A feed of triggers has no log: its positions are the numbers of its windows.
    """
    if read <= BEGINNING:
        return None
    is_of_triggers = feed.message_class is MessageClass.PERSISTENT
    return f"window {read.lsn >> NUMBER_BITS}" if is_of_triggers else str(read.behind)
