"""A channel with clients of Oracle Streams, for tests that run them on a real server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_ddlrepl import flow
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.streams.clients import StreamsClients
from airflow_ddlrepl.flow.streams.feed import Feed
from airflow_ddlrepl.model.change import Event, EventKind, Op, why_ignored
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import run

CAPTURE = {"streams_type": "capture", "streams_name": "cap", "queue_name": "q1"}
APPLY = {"streams_type": "apply", "streams_name": "app", "queue_name": "q1", "source_database": "dbs1"}
"""Arguments of the calls that give rules to a capture process, and to an apply process of its queue."""

BATTERY_TABLES = (
    "CREATE SCHEMA hr",
    "CREATE SCHEMA oe",
    "CREATE TABLE hr.t (id int PRIMARY KEY, k int, note text)",
    "CREATE TABLE hr.u (id int PRIMARY KEY, k int)",
    "CREATE TABLE oe.o (id int PRIMARY KEY, k int)",
)
BATTERY = {
    "B1": "INSERT INTO hr.t VALUES (1, 1, 'one')",
    "B2": "INSERT INTO hr.t VALUES (2, 2, 'two')",
    "B3": "INSERT INTO hr.u VALUES (3, 1)",
    "B4": "ALTER TABLE hr.t ADD added int",
    "B5": "CREATE INDEX u_k ON hr.u (k)",
    "B6": "ALTER SCHEMA hr OWNER TO CURRENT_USER",
    "B7": "INSERT INTO oe.o VALUES (7, 1)",
    "B8": "ALTER TABLE oe.o ADD added int",
}
"""The battery of the requirements as statements of PostgreSQL: each is one change."""

EVERYTHING = set(BATTERY)
_CELLS: dict[str, tuple[tuple[tuple[str, bool], ...], set[str]]] = {
    "table negative": ((("global", True), ("table", False)), {"B3", "B5", "B6", "B7", "B8"}),
    "table positive": ((("table", True),), {"B1", "B2", "B4"}),
    "schema negative": ((("global", True), ("schema", False)), {"B7", "B8"}),
    "schema positive": ((("schema", True),), EVERYTHING - {"B7", "B8"}),
    "global negative": ((("global", False),), set()),
    "global positive": ((("global", True),), EVERYTHING),
}
"""Levels of rules in positive (True) or negative rule sets, and the changes of the battery that a client then takes."""


def cells(rules: Callable[..., dict[str, Any]], first: int) -> list[Any]:
    """The six cells of one kind of client, as calls with what it takes. first: number of the first one's requirement.

    rules: makes a call of a level.
    """
    return [
        pytest.param(
            [rules(level) if is_positive else rules(level, inclusion_rule=False) for level, is_positive in levels],
            expected,
            marks=pytest.mark.req(f"ST-T-{number:02}"),
            id=name,
        )
        for number, (name, (levels, expected)) in enumerate(_CELLS.items(), first)
    ]


@dataclass
class StreamsChannel:
    """source: URL of the database; file: the channel file."""

    source: str
    file: Path

    @contextmanager
    def opened(self) -> Iterator[RunContext]:
        with flow.open_channel(self.file, InProcess()) as context:
            yield context

    def at_source(self, *statements: str) -> None:
        """Each statement in its own transaction."""
        run(self.source, *statements)

    def activate(self, *, load: bool = False) -> Any:
        """load: the tables of apply processes come to their targets, too."""
        with self.opened() as context:
            return flow.activate(context, load=load)

    def stage(self, stage: Any, *arguments: Any, **options: Any) -> Any:
        """Run one stage, such as `capture`, in a run of its own."""
        with self.opened() as context:
            return stage(context, *arguments, **options)

    def change(self, **sections: Any) -> None:
        """Change keys of the section `streams` in the channel file."""
        data = yaml.safe_load(self.file.read_text())
        data["streams"].update(sections)
        self.file.write_text(yaml.safe_dump(data, sort_keys=False))

    def content(self, queue: str) -> list[str]:
        """What is in a queue, in order: `INSERT hr.t {'id': '1'}` of rows, the text of DDL."""
        with self.opened() as context:
            return [line for feed in StreamsClients(context).feeds(queue) for line in feed_content(feed)]

    def bytes_of(self, queue: str) -> bytes:
        """All bytes of a queue's files."""
        with self.opened() as context:
            feeds = StreamsClients(context).feeds(queue)
            return b"".join(feed.trail.place.read(path) or b"" for feed in feeds for path in feed.trail.place.walk())


def feed_content(feed: Feed, after: Position | None = None) -> list[str]:
    """after: only the segments from this position on."""
    found: list[tuple[tuple[int, int], str]] = []
    for segment in feed.segments(after):
        for event in feed.trail.events(segment):
            if event.kind in (EventKind.DDL, EventKind.TRUNCATE) and not why_ignored(event):
                found.append(((event.key.lsn, event.key.seq), _text(event)))
        for file in segment.files():
            for batch in feed.trail.batches(file, file.first, type(file.last)(file.last.lsn, file.last.seq + 1)):
                for row in batch.to_pylist():
                    side = "b" if row["op"] == Op.DELETE else "a"
                    values = {c.name: row.get(f"{side}_{c.name}") for c in file.columns}
                    found.append(((row["lsn"], row["seq"]), f"{Op(row['op']).name} {file.schema}.{file.name} {values}"))
    return [text for _, text in sorted(found, key=lambda one: one[0])]


def _text(event: Event) -> str:
    return event.statement or f"{event.kind} {','.join(str(name) for _, name in event.dropped)}"


def streams_channel(folder: Path, source: str, *calls: dict[str, Any], **streams: Any) -> StreamsChannel:
    """A channel `hr` of hr.* and oe.* with these calls; more keys of `streams` by name. Tables come first."""
    data: dict[str, Any] = {
        "channel": "hr",
        "source": {"location": source, "tables": ["hr.*", "oe.*"], **streams.pop("place", {})},
        "adapt_ddl": [{"add_table_pattern": "*"}],
        "streams": {"calls": list(calls), "source_database": "dbs1", **streams},
        "repository": f"sqlite:///{folder}/repository.db",
        "trail": f"file://{folder}/trail",
    }
    file = folder / "hr.yml"
    file.write_text(yaml.safe_dump(data, sort_keys=False))
    return StreamsChannel(source, file)
