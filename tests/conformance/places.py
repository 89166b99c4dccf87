"""Targets of every engine, as the conformance suite sees them: where they are, and what rows they have."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.duckdb.connection.database import session
from airflow_ddlrepl.engines.duckdb.connection.tables_there import columns_there
from airflow_ddlrepl.engines.duckdb.target.state import table_states
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table_state import TableStatus
from airflow_ddlrepl.ports.work import InProcess
from tests.conformance.file_engine.target import FileTarget
from tests.conformance.work import START
from tests.support.replica import Replica, channel_file

RULE = """create or replace function public.refuses() returns trigger language plpgsql as $$ begin
    if '{text}' in (select value from jsonb_each_text(to_jsonb(new))) then raise 'it takes no {text}'; end if;
    return new;
end $$"""
DO_RULE = (
    "create trigger refuses before insert or update on {name} for each row execute function public.refuses(); "
    "alter table {name} enable always trigger refuses"
)
NO_RULE = "drop trigger refuses on {name}"
NAMES_TABLES = ("INT-123", "ADP-131")
"""Of the errors of cycles in which only some tables go on: suspended ones, and one whose load the target refuses."""
Rows = list[dict[str, str | None]]
"""Values as texts, by column name."""


@dataclass
class Place:
    """A channel from a PostgreSQL database into a target of one engine. read: a table of the target.

    rule: has the target refuse rows of a table, by its id, that have a text as a value; no text: no more.
    write: puts the rows of a table with an id and a note at the target, as somebody might who has no business there.
    of_nobody: what is written at the target inside of it is somebody else's.
    """

    engine: str
    replica: Replica
    read: Callable[[TableName], Rows | None] = field(repr=False)
    rule: Callable[[int, str], None] = field(repr=False)
    write: Callable[[TableName, dict[str, str]], None] = field(repr=False)
    of_nobody: Callable[[], AbstractContextManager[None]] = field(default=nullcontext, repr=False)

    def start(self, *more: str) -> None:
        """Activate the channel, with tables at the source. more: statements before it."""
        self.replica.at_source(*START, *more)
        self.replica.activate()

    def late(self) -> set[int]:
        """The ids of the tables that do not follow the source."""
        with flow.open_channel(self.replica.file, InProcess()) as run:
            states = run.target("warehouse").state().table_states.values()
            return {one.table_id for one in states if one.state is not TableStatus.LIVE}

    def suspend(self) -> DdlReplError:
        """One cycle, whose error names suspended tables: all others are as at the source."""
        with pytest.raises(DdlReplError) as caught:
            self.replica.replicate()
        assert caught.value.code in NAMES_TABLES, caught.value
        self.check(but=self.late())
        return caught.value

    def states(self) -> dict[str, TableStatus]:
        """How the tables stand at the target, by the name that they have there."""
        with flow.open_channel(self.replica.file, InProcess()) as run:
            return {str(one.name): one.state for one in run.target("warehouse").state().table_states.values()}

    def check(self, but: Collection[int] = ()) -> None:
        """Every table of the source, but some by their ids, is at the target with all its rows, and none twice."""
        names = _tables(self.replica.source, but)
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

    def rule(table_id: int, text: str) -> None:
        with flow.open_channel(replica.file, InProcess()) as run:
            name = run.target("warehouse").state().table_states[table_id].name
        replica.at_target(RULE.format(text=text), *(DO_RULE if text else NO_RULE).format(name=name).split("; "))

    def write(name: TableName, notes: dict[str, str]) -> None:
        values = ", ".join(f"({key}, '{note}')" for key, note in notes.items())
        replica.at_target(f"delete from {name}", f"insert into {name} values {values}")

    return Place(
        "postgres", replica, lambda name: _rows(target, name) if name in _tables(target) else None, rule, write
    )


def files(folder: Path, source: str, /, **more: Any) -> Place:
    """Values of the log are texts: files have no other."""
    location = f"files://{folder}/target"
    more["capture"] = {"format": "text", **more.get("capture", {})}
    replica = Replica(source, "", channel_file(folder, source, location, **more))

    def read(name: TableName) -> Rows | None:
        table = FileTarget(location, "shop").files.read(name)
        if table is None:
            return None
        return [{c.name: row[str(c.id)] for c in table.shape.columns} for row in table.rows]

    def rule(table_id: int, text: str) -> None:
        target = FileTarget(location, "shop").files
        rules = {i: one for i, one in target.rules().items() if i != table_id}
        target.put_rules({**rules, table_id: text} if text else rules)

    def write(name: TableName, notes: dict[str, str]) -> None:
        files = FileTarget(location, "shop").files
        table = files.read(name)
        assert table is not None
        key, note = (str(column.id) for column in table.shape.columns)
        files.write(name, replace(table, rows=[{key: one, note: text} for one, text in notes.items()]))

    return Place("files", replica, read, rule, write)


def duckdb(folder: Path, source: str, /, **more: Any) -> Place:
    """A rule is a CHECK: DuckDB adds one to a new table only."""
    location = f"duckdb://{folder}/target.duckdb"
    replica = Replica(source, "", channel_file(folder, source, location, **more))

    def rule(table_id: int, text: str) -> None:
        with session(location) as connection:
            name = table_states(connection, "shop")[table_id].name
            columns = columns_there(connection, name)
            texts = [f'CAST("{column}" AS VARCHAR)' for column in columns] if text else []
            checks = [f"CHECK ({one} IS DISTINCT FROM '{text}')" for one in texts]
            parts = [f'"{column}" {kind}' for column, kind in columns.items()]
            connection.execute(f'ALTER TABLE "{name.schema}"."{name.name}" RENAME TO unruled')
            connection.execute(f'CREATE TABLE "{name.schema}"."{name.name}" ({", ".join([*parts, *checks])})')
            connection.execute(f'INSERT INTO "{name.schema}"."{name.name}" FROM "{name.schema}".unruled')
            connection.execute(f'DROP TABLE "{name.schema}".unruled')

    def write(name: TableName, notes: dict[str, str]) -> None:
        values = ", ".join(f"({key}, '{note}')" for key, note in notes.items())
        with session(location) as connection:
            connection.execute(f'DELETE FROM "{name.schema}"."{name.name}"')
            connection.execute(f'INSERT INTO "{name.schema}"."{name.name}" VALUES {values}')

    return Place("duckdb", replica, lambda name: file_rows(folder / "target.duckdb", name), rule, write)


def file_rows(path: Path, name: TableName) -> Rows | None:
    """The rows of a table of a DuckDB file, in their order; None: there is no such table."""
    with session(f"duckdb://{path}") as connection:
        columns = columns_there(connection, name)
        texts = ", ".join(f'CAST("{column}" AS VARCHAR)' for column in columns)
        if not columns:
            return None
        found = connection.execute(f'SELECT {texts} FROM "{name.schema}"."{name.name}" ORDER BY ALL').fetchall()
    return [dict(zip(columns, row, strict=True)) for row in found]


def _tables(url: str, but: Collection[int] = ()) -> set[TableName]:
    ours = "'pg_catalog', 'information_schema', 'ddlrepl'"
    query = (
        "select nspname, relname from pg_class c join pg_namespace n on n.oid = relnamespace"
        f" where relkind = 'r' and nspname not in ({ours}) and c.oid <> all (%s::oid[])"
    )
    with psycopg.connect(url) as connection:
        return {TableName(*row) for row in connection.execute(query.encode(), [list(but)])}


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
