"""The channel that a command is about, together with the connections that its locations name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.config.sections.channel import Channel

Connections = Callable[[Channel], AbstractContextManager[object]]
"""Makes a channel's connections known to this process, and to those that it starts, for the time of a block."""


def environment_alone(channel: Channel) -> AbstractContextManager[object]:
    """`ddlrepl` without Airflow: connections stand in the environment or in a file that the environment names."""
    return nullcontext()


_connections: ContextVar[Connections] = ContextVar("connections", default=environment_alone)


@contextmanager
def connections_of(connections: Connections) -> Iterator[None]:
    """Commands that run in this block get a channel's connections that way."""
    token = _connections.set(connections)
    try:
        yield
    finally:
        _connections.reset(token)


@contextmanager
def opened(path: Path) -> Iterator[Channel]:
    """The channel of that file; inside the block its connections can be resolved."""
    channel = load_channel(path)
    with _connections.get()(channel):
        yield channel
