"""Processor time of this process and of servers: on a busy machine it says more than the clock."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import psutil

from airflow_ddlrepl.demo.servers import PrivateServer


def processor_seconds(servers: Sequence[PrivateServer]) -> float:
    """Return the seconds of a core that this process and all sessions of the servers have taken so far."""
    return time.process_time() + sum(map(_of, servers))


def _of(server: PrivateServer) -> float:
    """Return what a server has taken: its sessions that have ended are its own process's children's time."""
    process = psutil.Process(int((server.data / "postmaster.pid").read_text().split()[0]))
    own = process.cpu_times()
    ended = own.user + own.system + own.children_user + own.children_system
    return float(ended) + sum(_living(process))


def _living(process: psutil.Process) -> Iterator[float]:
    for session in process.children():
        try:
            own = session.cpu_times()
        except psutil.NoSuchProcess:
            continue
        yield own.user + own.system
