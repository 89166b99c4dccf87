"""A source whose row changes triggers capture, and what comes out of the feed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from airflow_ddlrepl import flow
from airflow_ddlrepl.failpoint import VARIABLE
from airflow_ddlrepl.flow.streams.clients import StreamsClients
from airflow_ddlrepl.flow.streams.sync_capture import SyncCaptured, feed_of, remove_sync_capture, sync_capture
from airflow_ddlrepl.model.change import Event, Op
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.streams.calls.section import StreamsParameters
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.messages import Command, MessageClass, RowLcr
from airflow_ddlrepl.streams.procedures.run import environment_of
from airflow_ddlrepl.streams.rules.client import Client, ClientKind
from airflow_ddlrepl.trail.store import Trail
from tests.support.crashing import processes
from tests.support.replica import channel_file, run

Call = dict[str, dict[str, Any]]
EPOCH = 0


def rule(table: str = "hr.t", name: str = "r", **more: Any) -> Call:
    """A rule for the row changes of a table."""
    return {"add_table_rules": {"table_name": table, "dml_rule_name": name, **_CLIENT, **more}}


def subset(condition: str, table: str = "hr.t", **more: Any) -> Call:
    """The three rules of a subset; their names are i, u and d."""
    names = {f"{kind}_rule_name": kind[0] for kind in ("insert", "update", "delete")}
    return {"add_subset_rules": {"table_name": table, "dml_condition": condition, **names, **_CLIENT, **more}}


_CLIENT = {"streams_type": "sync_capture", "streams_name": "sync"}


def client(*calls: Call) -> Client:
    """The synchronous capture that these calls make."""
    parameters = StreamsParameters.model_validate({"calls": list(calls)})
    return environment_of(parameters, NameCase.LOWER).clients[ClientKind.SYNC_CAPTURE, "sync"]


@dataclass
class Capturing:
    """source: URL. folder: of the feed and the repository. calls: that make the rules of the next run."""

    source: str
    folder: Path
    calls: Sequence[Call] = ()
    functions: dict[str, str] = field(default_factory=dict)

    def at_source(self, *statements: str) -> None:
        """Each statement in its own transaction."""
        run(self.source, *statements)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.source) as connection:
            return connection.execute(query).fetchall()

    @contextmanager
    def clients(self) -> Iterator[StreamsClients]:
        streams = {"calls": list(self.calls), "functions": self.functions}
        file = channel_file(self.folder, self.source, self.source, targets=[], streams=streams, adapt_ddl=[])
        with flow.open_channel(file, InProcess()) as context:
            yield StreamsClients(context)

    @property
    def trail(self) -> Trail:
        with self.clients() as clients:
            (client,) = clients.of_kind(ClientKind.SYNC_CAPTURE)
            return feed_of(clients, client).trail

    def capture(self, *calls: Call) -> SyncCaptured:
        """One run of the stage. calls: other rules from now on."""
        self.calls = calls or self.calls
        with self.clients() as clients:
            return sync_capture(clients.run)

    def dies(self, point: str) -> None:
        """One run of the stage in a process of its own, which is killed at a fail point."""
        process = processes.Process(target=_capture, args=(self, point))
        process.start()
        process.join(60)
        assert process.exitcode == -9, (point, process.exitcode)

    def remove(self) -> tuple[str, ...]:
        with self.clients() as clients, clients.run.locked():
            return remove_sync_capture(clients.run, "sync")

    def transactions(self) -> list[dict[str, Any]]:
        """The feed's transactions, in their order."""
        trail = self.trail
        found: list[dict[str, Any]] = []
        for segment in trail.segments(EPOCH):
            found += trail.transactions(segment).to_pylist()
        return found

    def events(self) -> list[Event]:
        trail = self.trail
        return [event for segment in trail.segments(EPOCH) for event in trail.events(segment)]

    def lcrs(self) -> list[RowLcr]:
        """The feed's row LCRs in their order, with the tag of their transaction; no two have the same place."""
        trail, found = self.trail, {}
        origins = {one["lsn"]: one["origin"] for one in self.transactions()}
        for segment in trail.segments(EPOCH):
            low, high = LogKey(segment.low, START_OF_TRANSACTION), LogKey(segment.high, START_OF_TRANSACTION)
            for file in segment.files():
                for row in trail.rows(file, low, high).to_pylist():
                    place = LogKey(row["lsn"], row["seq"])
                    assert place not in found, place
                    found[place] = _lcr(file.schema, file.name, row, origins[place.lsn])
        return [found[place] for place in sorted(found)]

    def seen(self) -> list[tuple[Any, ...]]:
        """The same as (command, old values, new values), for one table."""
        return [(one.command.value, dict(one.old), dict(one.new)) for one in self.lcrs()]


def _lcr(owner: str, name: str, row: dict[str, Any], origin: str) -> RowLcr:
    command = Command(Op(row["op"]).name)
    old = {key[2:]: value for key, value in row.items() if key.startswith("b_")}
    new = {key[2:]: value for key, value in row.items() if key.startswith("a_")}
    return RowLcr(
        owner,
        name,
        tag=origin.encode() or None,
        command=command,
        old={} if command is Command.INSERT else old,
        new={} if command is Command.DELETE else new,
        message_class=MessageClass.PERSISTENT,
    )


def _capture(of: Capturing, point: str) -> None:
    os.environ[VARIABLE] = point
    of.capture()
