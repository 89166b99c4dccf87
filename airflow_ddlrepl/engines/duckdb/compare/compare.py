"""This module compares tables of a DuckDB file with their sources: every column of every row, as values held there."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from airflow_ddlrepl.compare.report import Kind, RowDifference, TableReport
from airflow_ddlrepl.compare.structure import left_behind
from airflow_ddlrepl.engines.comparing import CompareTask, columns_compared
from airflow_ddlrepl.engines.duckdb.connection.database import session
from airflow_ddlrepl.engines.duckdb.connection.quoting import qualified, quote
from airflow_ddlrepl.engines.duckdb.connection.tables_there import columns_there
from airflow_ddlrepl.engines.duckdb.types.physical import from_text, physical
from airflow_ddlrepl.engines.duckdb.types.type_system import DUCK_TYPES
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.model.table import Column

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_SOURCE = "ddlrepl_source"
_BATCH = "ddlrepl_batch"


def compare_tables(tasks: Sequence[CompareTask]) -> list[TableReport]:
    """Compare tables of one source with those of one file; a table that can't be read is reported with the reason."""
    with session(tasks[0].target_dsn, is_reader=True) as connection:
        return [_one_table(connection, task) for task in tasks]


def _one_table(connection: Connection, task: CompareTask) -> TableReport:
    started = time.monotonic()
    try:
        report = _Comparison(connection, task).report()
    except SourceError as error:
        why = f"it is not compared: {error.code}: {error.message}; {error.hint}"
        return TableReport(task.source.name, task.target, structure=(why,), waits=True)
    return replace(report, seconds=round(time.monotonic() - started, 3))


@dataclass
class _Comparison:
    """A comparison reads the source's rows into a temporary table with the target's types, and looks for what differs.

    A value that its type can't hold differs: it is NULL there, and counted by the text of its row.
    """

    connection: Connection
    task: CompareTask

    def report(self) -> TableReport:
        task, found = self.task, columns_there(self.connection, self.task.target)
        plain = TableReport(task.source.name, task.target)
        if task.source.is_partitioned and found:  # its partitions are compared
            return replace(plain, columns=len(self._pairs()), structure=tuple(self._structure(found)))
        if not found:
            count = 0 if task.source.is_partitioned else sum(batch.num_rows for batch in task.contents.batches())
            why = ("the table is missing at the target",)
            return replace(plain, source_rows=count, structure=why, missing=count)
        pairs = [one for one in self._pairs() if found.get(one[1].name) == self._physical_type(one[1])]
        try:
            source_rows = self._copy(pairs)
            there = self.connection.execute(f"SELECT count(*) FROM {qualified(task.target)}").fetchall()[0][0]
            plain = replace(plain, columns=len(pairs), source_rows=source_rows, target_rows=int(there))
            return replace(self._rows(plain, pairs), structure=tuple(self._structure(found)))
        finally:
            self.connection.execute(f"DROP TABLE IF EXISTS temp.{_SOURCE}")

    def _pairs(self) -> list[tuple[Column, Column]]:
        """Return the columns that are compared, each with the target's."""
        there = {column.id: column for column in self.task.shape.columns}
        names = columns_compared(self.task.source, self.task.shape)
        columns = [self.task.source.named(name) for name in names]
        return [(one, there[one.id]) for one in columns if one.id not in self.task.uncompared]

    def _physical_type(self, column: Column) -> str:
        return physical(column.type, self.task.shape.types)

    def _structure(self, found: dict[str, str]) -> Iterator[str]:
        task = self.task
        yield from left_behind(task.wanted or task.source, task.shape, DUCK_TYPES)
        wanted = {column.name: self._physical_type(column) for column in task.shape.columns}
        for name, held in wanted.items():
            if name not in found:
                yield f"column {name} is missing at the target"
            elif found[name] != held:
                yield f"column {name} has type {found[name]}, should be {held}"
        yield from (f"column {name} is only at the target" for name in found if name not in wanted)

    def _copy(self, pairs: Sequence[tuple[Column, Column]]) -> int:
        """Copy the source's rows into a temporary table with the columns of the target; return how many there are."""
        columns = ", ".join(f"{quote(ours.name)} {self._physical_type(ours)}" for _, ours in pairs)
        self.connection.execute(f"CREATE TEMP TABLE {_SOURCE} ({columns or 'nothing INTEGER'})")
        names = columns_compared(self.task.source, self.task.shape)
        at = {name: f"v{place}" for place, name in enumerate(names)}
        values = (
            ", ".join(from_text(at[theirs.name], self._physical_type(ours), "TRY_CAST") for theirs, ours in pairs)
            or "NULL"
        )
        count = 0
        for batch in self.task.contents.batches():
            self.connection.register(_BATCH, batch.rename_columns([*at.values()]) if names else batch)
            self.connection.execute(f"INSERT INTO temp.{_SOURCE} SELECT {values} FROM {_BATCH}")
            self.connection.unregister(_BATCH)
            count += batch.num_rows
        return count

    def _rows(self, plain: TableReport, pairs: Sequence[tuple[Column, Column]]) -> TableReport:
        """Return the report with the rows that differ; where there is a key, by it."""
        names = [quote(ours.name) for _, ours in pairs]
        if not names:
            return replace(plain, missing=max(0, plain.source_rows - plain.target_rows))
        columns, target = ", ".join(names), qualified(self.task.target)
        for kind, here, there in ((Kind.MISSING, f"temp.{_SOURCE}", target), (Kind.EXTRA, target, f"temp.{_SOURCE}")):
            self.connection.execute(
                f"CREATE OR REPLACE TEMP TABLE ddlrepl_{kind} AS"
                f" SELECT {columns} FROM {here} EXCEPT ALL SELECT {columns} FROM {there}"
            )
        key = self._key(pairs)
        return self._by_key(plain, key, names) if key else self._by_row(plain, names)

    def _key(self, pairs: Sequence[tuple[Column, Column]]) -> list[str]:
        key = self.task.source.key.columns if self.task.source.key else ()
        found = {ours.id: quote(ours.name) for _, ours in pairs}
        return [found[i] for i in key] if all(i in found for i in key) else []

    def _by_key(self, plain: TableReport, key: Sequence[str], names: Sequence[str]) -> TableReport:
        same = " AND ".join(f"m.{name} = e.{name}" for name in key)
        m, e = f"ddlrepl_{Kind.MISSING}", f"ddlrepl_{Kind.EXTRA}"
        found: list[RowDifference] = []
        for kind, here, there, alias in ((Kind.MISSING, m, e, "m"), (Kind.EXTRA, e, m, "e")):
            other = "e" if alias == "m" else "m"
            query = f"FROM {here} AS {alias} WHERE NOT EXISTS (SELECT 1 FROM {there} AS {other} WHERE {same})"
            found += [RowDifference(kind, text) for text in self._keys(key, query, alias)]
        differs = ", ".join(f"m.{name} IS DISTINCT FROM e.{name}" for name in names)
        keys = self._key_text(key, "m")
        rows = self.connection.execute(f"SELECT {keys}, {differs} FROM {m} AS m JOIN {e} AS e ON {same}").fetchall()
        for text, *flags in rows:
            columns = tuple(name.strip('"') for name, differ in zip(names, flags, strict=True) if differ)
            found.append(RowDifference(Kind.DIFFERENT, text, columns))
        return self._reported(plain, found)

    def _by_row(self, plain: TableReport, names: Sequence[str]) -> TableReport:
        found: list[RowDifference] = []
        for kind in (Kind.MISSING, Kind.EXTRA):
            found += [RowDifference(kind, text) for text in self._keys(names, f"FROM ddlrepl_{kind} AS r", "r")]
        return self._reported(plain, found)

    def _keys(self, names: Sequence[str], query: str, alias: str) -> list[str]:
        rows = self.connection.execute(f"SELECT {self._key_text(names, alias)} {query}").fetchall()
        return [text for (text,) in rows]

    def _key_text(self, names: Sequence[str], alias: str) -> str:
        parts = ", ".join(f"coalesce(CAST({alias}.{name} AS VARCHAR), '')" for name in names)
        return f"concat('(', concat_ws(',', {parts}), ')')"

    def _reported(self, plain: TableReport, found: Sequence[RowDifference]) -> TableReport:
        counts = {kind: sum(row.kind is kind for row in found) for kind in Kind}
        return replace(
            plain,
            missing=counts[Kind.MISSING],
            extra=counts[Kind.EXTRA],
            different=counts[Kind.DIFFERENT],
            rows=tuple(found[: self.task.limit]),
            unlike=tuple(found),
        )
