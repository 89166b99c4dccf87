"""Open the channel of a command, together with the connections that its locations name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_ddlrepl.config.sections.channel import Channel

Connections = Callable[["Channel"], AbstractContextManager[object]]
"""Makes a channel's connections known to this process, and to those that it starts, for the time of a block."""


def environment_alone(channel: Channel) -> AbstractContextManager[object]:
    """Add no connections: without Airflow they are in the environment, or in a file that it names."""
    return nullcontext()


_connections: ContextVar[Connections] = ContextVar("connections", default=environment_alone)

_wait_seconds: ContextVar[float] = ContextVar("wait_seconds", default=0.0)


@contextmanager
def lock_wait(seconds: float) -> Iterator[None]:
    """Let the command in this block wait, at most so many seconds, while another run works on its channel."""
    token = _wait_seconds.set(seconds)
    try:
        yield
    finally:
        _wait_seconds.reset(token)


def wait_seconds() -> float:
    """Return how long the command waits for another run of its channel."""
    return _wait_seconds.get()


@contextmanager
def connections_of(connections: Connections) -> Iterator[None]:
    """Let the commands in this block make a channel's connections known in this way."""
    token = _connections.set(connections)
    try:
        yield
    finally:
        _connections.reset(token)


def connected(channel: Channel) -> AbstractContextManager[object]:
    """Return a context in which the connections that a channel's locations name can be resolved."""
    return _connections.get()(channel)


def command_name() -> str:
    """Return what a person types to run a command like this one."""
    return "ddlrepl" if _connections.get() is environment_alone else "airflow ddlrepl"


@contextmanager
def open_channel(path: Path) -> Iterator[Channel]:
    """Open the channel of a file; inside the block its connections can be resolved."""
    from airflow_ddlrepl.config.file.load import load_channel

    channel = load_channel(path)
    with connected(channel):
        yield channel
