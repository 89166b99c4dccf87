"""Targets of every engine, as the conformance suite sees them: where they are, and what rows they have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from airflow_ddlrepl import flow
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table_state import TableStatus
from airflow_ddlrepl.ports.work import InProcess
from tests.conformance.file_engine.target import FileTarget
from tests.conformance.work import START
from tests.support.replica import Replica, channel_file

Rows = list[dict[str, str | None]]
"""Values as texts, by column name."""


@dataclass
class Place:
    """A channel from a PostgreSQL database into a target of one engine. read: a table of the target."""

    replica: Replica
    read: Callable[[TableName], Rows | None] = field(repr=False)

    def start(self, *more: str) -> None:
        """Activate the channel, with tables at the source. more: statements before it."""
        self.replica.at_source(*START, *more)
        self.replica.activate()

    def states(self) -> dict[str, TableStatus]:
        """How the tables stand at the target, by the name that they have there."""
        with flow.open_channel(self.replica.file, InProcess()) as run:
            return {str(one.name): one.state for one in run.target("warehouse").state().table_states.values()}

    def check(self) -> None:
        """Every table of the source is at the target with all its rows, and with none twice."""
        names = _tables(self.replica.source)
        for name in names:
            wanted = _rows(self.replica.source, name)
            found = self.read(name)
            assert found is not None, f"{name} is not at the target"
            columns = _columns(self.replica.source, name)
            assert not found or set(columns) <= set(found[0]), f"{name} has {sorted(found[0])} of {columns}"
            assert _sorted([{c: row[c] for c in columns} for row in found]) == _sorted(wanted), name
        live = {name for name, state in self.states().items() if state is TableStatus.LIVE}
        assert live == {str(name) for name in names}

    def settle(self) -> None:
        """One cycle, and the target is as the source."""
        self.replica.settle()
        self.check()


def postgres(folder: Path, source: str, target: str, /, **more: Any) -> Place:
    replica = Replica(source, target, channel_file(folder, source, target, **more))
    return Place(replica, lambda name: _rows(target, name) if name in _tables(target) else None)


def files(folder: Path, source: str, /, **more: Any) -> Place:
    """Values of the log are texts: files have no other."""
    location = f"files://{folder}/target"
    replica = Replica(source, "", channel_file(folder, source, location, capture={"format": "text"}, **more))

    def read(name: TableName) -> Rows | None:
        table = FileTarget(location, "shop").files.read(name)
        if table is None:
            return None
        return [{c.name: row[str(c.id)] for c in table.shape.columns} for row in table.rows]

    return Place(replica, read)


def _tables(url: str) -> set[TableName]:
    ours = "'pg_catalog', 'information_schema', 'ddlrepl'"
    query = f"select schemaname, tablename from pg_tables where schemaname not in ({ours})".encode()
    with psycopg.connect(url) as connection:
        return {TableName(*row) for row in connection.execute(query)}


def _columns(url: str, name: TableName) -> list[str]:
    with psycopg.connect(url) as connection:
        cursor = connection.execute(f'select * from "{name.schema}"."{name.name}" limit 0'.encode())
        return [column.name for column in cursor.description or ()]


def _rows(url: str, name: TableName) -> Rows:
    columns = _columns(url, name)
    texts = ", ".join(f'"{column}"::text' for column in columns)
    with psycopg.connect(url) as connection:
        found = connection.execute(f'select {texts} from "{name.schema}"."{name.name}"'.encode()).fetchall()
    return [dict(zip(columns, row, strict=True)) for row in found]


def _sorted(rows: Rows) -> list[list[tuple[str, str | None]]]:
    return sorted((sorted(row.items()) for row in rows), key=str)
