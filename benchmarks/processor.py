"""Processor time of this process, of Spark's that it started, and of servers: on a busy machine the clock says less."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

import psutil

from airflow_ddlrepl.demo.servers import PrivateServer


def processor_seconds(servers: Sequence[PrivateServer]) -> float:
    """Return the seconds of a core that this process, its Spark and all sessions of the servers have taken so far."""
    return client_seconds(servers) + sum(map(_of, servers))


def client_seconds(servers: Sequence[PrivateServer]) -> float:
    """Return the seconds of a core that this process and what it has started have taken so far, but for servers."""
    ended = os.times()
    own = time.process_time() + ended.children_user + ended.children_system
    return own + sum(_spark(psutil.Process(), {_master(server).pid for server in servers}))


def _master(server: PrivateServer) -> psutil.Process:
    return psutil.Process(int((server.data / "postmaster.pid").read_text().split()[0]))


def _of(server: PrivateServer) -> float:
    """Return what a server has taken: its sessions that have ended are its own process's children's time."""
    process = _master(server)
    return _taken(process) + sum(map(_living, process.children()))


def _spark(process: psutil.Process, servers: set[int]) -> Iterator[float]:
    """Yield what each process has taken that this one has started, but for servers; Spark's workers are among them."""
    for child in process.children():
        if child.pid not in servers:
            with suppress(psutil.NoSuchProcess):
                yield _taken(child)
                yield from _spark(child, servers)


def _taken(process: psutil.Process) -> float:
    """Return what a process has taken, with those of its children that have ended."""
    own = process.cpu_times()
    return float(own.user + own.system + own.children_user + own.children_system)


def _living(session: psutil.Process) -> float:
    with suppress(psutil.NoSuchProcess):
        own = session.cpu_times()
        return float(own.user + own.system)
    return 0.0
