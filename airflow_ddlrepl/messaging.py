"""This module is the Python interface for messages: put them into a channel's queue, and take them out.

with messaging_client("shop.yml", "orders_client") as client:
    for message in client.dequeue():
        ...  # what was given is taken when the block ends without an exception
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.streams.messages import Message

if TYPE_CHECKING:
    from airflow_ddlrepl.flow.streams.dequeue import MessagingClient


def enqueue(
    channel: str | Path, *messages: Message | Mapping[str, Any], queue: str = "", connection: Any = None
) -> int:
    """Put messages into a queue, all or none, and return how many.

    channel: path of the channel file. messages: as objects, or as JSON values. queue: empty: that of the capture
    process. connection: an open connection to the source (psycopg), in whose transaction they are enqueued: they are
    there when it commits; None: in a transaction of their own. Raises as `flow.streams.enqueue.enqueue` does.
    """
    from airflow_ddlrepl import flow
    from airflow_ddlrepl.flow.streams.enqueue import enqueue as enqueue_in

    with flow.open_channel(channel, InProcess()) as run:
        return enqueue_in(run, messages, queue, connection).messages


@contextmanager
def messaging_client(channel: str | Path, name: str = "", wait_seconds: float = 30.0) -> Iterator[MessagingClient]:
    """Open a messaging client; the messages that it gave are taken when the block ends without an exception.

    channel: path of the channel file. name: empty: the channel's only client. wait_seconds: for another process that
    dequeues with it. Raises as `flow.streams.dequeue.messaging_client` does.
    """
    from airflow_ddlrepl import flow
    from airflow_ddlrepl.flow.streams.dequeue import messaging_client as client_in

    with flow.open_channel(channel, InProcess()) as run, client_in(run, name, wait_seconds) as client:
        yield client


__all__ = ["enqueue", "messaging_client"]
