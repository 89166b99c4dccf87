"""A folder as a source: a log of JSON lines, one a transaction, and the tables as they are now, without ids.

Its tables have names, and its log has the text of each statement, as those of MySQL and MariaDB.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from airflow_ddlrepl.config.sections.scope import Scope
from airflow_ddlrepl.engines.numbered_source import NumberedSource
from airflow_ddlrepl.engines.source_catalog import RowSelection, SourceSnapshot
from airflow_ddlrepl.model.change import Event, EventKind, Op
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.table import Identity, Table
from airflow_ddlrepl.model.visibility import SnapshotAt
from airflow_ddlrepl.ports.family_values import FamilyValues
from airflow_ddlrepl.ports.log import LogBatch, LogRange
from airflow_ddlrepl.ports.positions import Positions
from airflow_ddlrepl.ports.row_layout import ColumnLayout, Layout
from airflow_ddlrepl.ports.rows import TextRows
from airflow_ddlrepl.sql.dialect import Dialect
from airflow_ddlrepl.trail.transaction_columns import TRANSACTIONS
from tests.conformance.file_engine.files import replace_file
from tests.conformance.file_engine.types import FILE_TYPES

HEAD = [
    pa.field("lsn", pa.int64()),
    pa.field("seq", pa.int64()),
    pa.field("op", pa.int8()),
    pa.field("before", pa.int8()),
    pa.field("absent", pa.binary()),
]
WHOLE = 2
ROOM = 10
"""Ordinals for each change: a statement that renames several tables takes some of them."""
NOTHING: Mapping[str, str] = MappingProxyType({})
Row = dict[str, str | None]


@dataclass(frozen=True)
class FileDatabase:
    """What an application sees: it commits transactions, which are written to the log and to the tables."""

    folder: Path

    def log(self) -> list[dict[str, Any]]:
        path = self.folder / "log"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    @property
    def begin(self) -> int:
        """The first transaction that the log has."""
        path = self.folder / "begin"
        return int(path.read_text()) if path.exists() else 1

    def lose(self) -> None:
        """The log begins anew, as where an administrator has purged it."""
        (self.folder / "begin").write_text(str(len(self.log()) + 1))

    def commit_silently(self, *changes: dict[str, Any]) -> None:
        """As a session that writes nothing to the log."""
        now = self.tables()
        for change in changes:
            _do(change, now)
        self._store(now)

    def _store(self, now: dict[TableName, tuple[Table, list[Row]]]) -> None:
        replace_file(self.folder / "now", [{"shape": s.to_json(), "rows": rows} for s, rows in now.values()])

    def tables(self) -> dict[TableName, tuple[Table, list[Row]]]:
        path = self.folder / "now"
        found = json.loads(path.read_text()) if path.exists() else []
        return {(shape := Table.from_json(one["shape"])).name: (shape, one["rows"]) for one in found}

    def commit(self, *changes: dict[str, Any]) -> None:
        self.folder.mkdir(exist_ok=True)
        self.commit_silently(*changes)
        with (self.folder / "log").open("a") as log:
            log.write(json.dumps({"at": datetime.now(UTC).isoformat(), "changes": changes}) + "\n")


def rows(op: str, table: TableName, old: Row | None = None, new: Row | None = None) -> dict[str, Any]:
    return {"op": op, "table": list(table), "old": old, "new": new}


def statement(
    text: str,
    *shapes: Table,
    dropped: Sequence[TableName] = (),
    tables: Mapping[str, str] = NOTHING,
    columns: Mapping[str, str] = NOTHING,
) -> dict[str, Any]:
    """shapes: after it. tables, columns: the old names of those that are renamed; of a column that is new, nothing."""
    return {
        "text": text,
        "shapes": [one.to_json() for one in shapes],
        "dropped": [list(name) for name in dropped],
        "tables": dict(tables),
        "columns": dict(columns),
    }


def truncate(name: TableName) -> dict[str, Any]:
    return {**statement(f"truncate table {name}"), "emptied": list(name)}


def _do(change: dict[str, Any], now: dict[TableName, tuple[Table, list[Row]]]) -> None:
    if "emptied" in change:
        now[TableName(*change["emptied"])][1].clear()
    elif "text" in change:
        before, columns = dict(now), change["columns"]
        shapes = [Table.from_json(one) for one in change["shapes"]]
        old = {
            one.name: TableName(one.name.schema, change["tables"].get(one.name.name, one.name.name)) for one in shapes
        }
        for name in (*(TableName(*name) for name in change["dropped"]), *old.values()):
            now.pop(name, None)
        for shape in shapes:
            found = before[old[shape.name]][1] if old[shape.name] in before else []
            names = [(c.name, columns.get(c.name, c.name)) for c in shape.columns]
            now[shape.name] = shape, [{new: row.get(of) if of else None for new, of in names} for row in found]
    else:
        _, rows = now[TableName(*change["table"])]
        if change["old"] is not None:
            rows.remove(change["old"])
        if change["new"] is not None:
            rows.append(change["new"])


class FilePositions(Positions):
    """A position is a number of transactions, each of which counts as a megabyte of log."""

    def distance(self, low: Position, high: Position) -> int:
        return max(0, high - low) << 20

    def limit(self, low: Position, size: int) -> Position:
        return Position(max(0, low + (size >> 20)))


@dataclass(eq=False)
class FileSource(NumberedSource):
    """location: `files:///folder`."""

    location: str = field(repr=False)
    scope: Scope
    dialect = Dialect.MYSQL

    @property
    def database_there(self) -> FileDatabase:
        return FileDatabase(Path(self.location.partition("://")[2]))

    def identity(self) -> str:
        return self.location

    def clock(self) -> datetime:
        return datetime.now(UTC)

    def log_begin(self) -> Position:
        return Position(self.database_there.begin)

    def stable_end(self) -> Position:
        return Position(len(self.database_there.log()) + 1)

    def read_names(self, low: Position, high: Position) -> Sequence[LogRange]:
        return [FileRange(low, high, self.database_there)]

    @contextmanager
    def named_snapshot(self) -> Iterator[SourceSnapshot]:
        yield FileSnapshot(self.stable_end(), self.database_there.tables())


@dataclass(frozen=True)
class FileSnapshot(SourceSnapshot):
    at: Position
    found: dict[TableName, tuple[Table, list[Row]]]

    @property
    def snapshot(self) -> SnapshotAt:
        return SnapshotAt(self.at)

    @property
    def tables(self) -> tuple[Table, ...]:
        return tuple(shape for shape, _ in self.found.values())

    def chunks(self, selection: RowSelection, most: int) -> Sequence[FileRows]:
        columns = [selection.table.named(name) for name in selection.columns]
        return [FileRows(columns, FamilyValues(FILE_TYPES), rows=self.found[selection.table.name][1])]


@dataclass(frozen=True)
class FileRows(TextRows):
    rows: Sequence[Row] = ()

    def batches(self) -> Iterator[pa.RecordBatch]:
        fields = pa.schema([(column.name, pa.string()) for column in self.columns])
        yield pa.RecordBatch.from_pylist([{n: row[n] for n in fields.names} for row in self.rows], fields)


@dataclass(frozen=True, slots=True)
class FileRange(LogRange):
    database: FileDatabase

    def read(self) -> Iterator[LogBatch]:
        for lsn, transaction in enumerate(self.database.log(), 1):
            if not self.low <= lsn < self.high:
                continue
            assert lsn >= self.database.begin, "it is in the log no more"
            committed = int(datetime.fromisoformat(transaction["at"]).timestamp() * 1_000_000)
            numbered = [(i * ROOM, one) for i, one in enumerate(transaction["changes"])]
            for is_rows, part in groupby(numbered, lambda one: "op" in one[1]):
                changes = list(part)
                if is_rows:
                    yield LogBatch(rows=_batches(lsn, changes))
                else:
                    yield LogBatch(events=[_event(LogKey(lsn, seq), committed, one) for seq, one in changes])
            ended = [[lsn], [lsn], [committed], [""], [len(transaction["changes"])]]
            arrays = [pa.array(one, of.type) for one, of in zip(ended, TRANSACTIONS, strict=True)]
            yield LogBatch(transactions=pa.RecordBatch.from_arrays(arrays, schema=TRANSACTIONS))


def _event(key: LogKey, committed: int, change: dict[str, Any]) -> Event:
    shapes = tuple(Table.from_json(one) for one in change["shapes"])
    dropped = tuple((0, TableName(*name)) for name in change["dropped"])
    text = change["text"]
    words = " ".join(text.upper().split()[:2])
    if "emptied" in change:
        emptied = ((0, TableName(*change["emptied"])),)
        settings = {"restart_identity": False, "cascade": False}
        return Event(EventKind.TRUNCATE, key, key.lsn, committed, tag="TRUNCATE", dropped=emptied, settings=settings)
    return Event(EventKind.DDL, key, key.lsn, committed, tag=words, statement=text, tables=shapes, dropped=dropped)


def _batches(lsn: int, changes: list[tuple[int, dict[str, Any]]]) -> list[tuple[Layout, pa.RecordBatch]]:
    found = []
    for name, part in groupby(changes, lambda one: TableName(*one[1]["table"])):
        known = list(part)
        names = list(known[0][1]["new"] or known[0][1]["old"])
        rows = []
        for seq, one in known:
            row: dict[str, Any] = {
                "lsn": lsn,
                "seq": seq,
                "op": Op[one["op"].upper()],
                "before": WHOLE if one["old"] else 0,
            }
            for side, values in (("a", one["new"]), ("b", one["old"])):
                row |= {f"{side}_{n}": (values or {}).get(n) for n in names}
            rows.append(row)
        fields = [*HEAD, *(pa.field(f"{side}_{n}", pa.string()) for side in "ab" for n in names)]
        columns = tuple(ColumnLayout(n, 0, -1, True, "text") for n in names)
        layout = Layout(0, name.schema, name.name, Identity.FULL, columns)
        found.append((layout, pa.RecordBatch.from_pylist(rows, pa.schema(fields))))
    return found
