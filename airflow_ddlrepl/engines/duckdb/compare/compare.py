"""This module compares tables of a DuckDB file with their sources: every column of every row, as values held there."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from airflow_ddlrepl.compare.report import Kind, RowDifference, TableReport
from airflow_ddlrepl.compare.structure import left_behind
from airflow_ddlrepl.engines.comparing import CompareTask
from airflow_ddlrepl.engines.duckdb.compare.source_rows import (
    SOURCE,
    copy_source,
    key_names,
    key_text,
    pairs_of,
    physical_type,
)
from airflow_ddlrepl.engines.duckdb.connection.database import session
from airflow_ddlrepl.engines.duckdb.connection.quoting import quote
from airflow_ddlrepl.engines.duckdb.connection.tables_there import columns_there
from airflow_ddlrepl.engines.duckdb.merge.retained_rows import present_rows
from airflow_ddlrepl.engines.duckdb.types.type_system import DUCK_TYPES
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.model.table import Column

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


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
            return replace(plain, columns=len(pairs_of(task)), structure=tuple(self._structure(found)))
        if not found:
            count = 0 if task.source.is_partitioned else sum(batch.num_rows for batch in task.contents.batches())
            why = ("the table is missing at the target",)
            return replace(plain, source_rows=count, structure=why, missing=count)
        pairs = [one for one in pairs_of(task) if found.get(one[1].name) == physical_type(task, one[1])]
        try:
            copied, total = copy_source(self.connection, task, pairs)
            plain = replace(plain, source_rows=copied, discarded=total - copied)
            there = self.connection.execute(f"SELECT count(*) FROM {self._target()}").fetchall()[0][0]
            plain = replace(plain, columns=len(pairs), target_rows=int(there))
            return replace(self._rows(plain, pairs), structure=tuple(self._structure(found)))
        finally:
            self.connection.execute(f"DROP TABLE IF EXISTS {SOURCE}")

    def _structure(self, found: dict[str, str]) -> Iterator[str]:
        task = self.task
        yield from left_behind(task.wanted or task.source, task.shape, DUCK_TYPES)
        wanted = {column.name: physical_type(task, column) for column in task.shape.columns}
        for name, held in wanted.items():
            if name not in found:
                yield f"column {name} is missing at the target"
            elif found[name] != held:
                yield f"column {name} has type {found[name]}, should be {held}"
        yield from (f"column {name} is only at the target" for name in found if name not in wanted)

    def _target(self) -> str:
        """Return SQL for the target's rows that the source is to have, too."""
        return present_rows(self.task.shape, self.task.target, [quote(name) for name in key_names(self.task)])

    def _rows(self, plain: TableReport, pairs: Sequence[tuple[Column, Column]]) -> TableReport:
        """Return the report with the rows that differ; where there is a key, by it."""
        names = [quote(ours.name) for _, ours in pairs]
        if not names:
            return replace(plain, missing=max(0, plain.source_rows - plain.target_rows))
        columns, target = ", ".join(names), self._target()
        for kind, here, there in ((Kind.MISSING, SOURCE, target), (Kind.EXTRA, target, SOURCE)):
            self.connection.execute(
                f"CREATE OR REPLACE TEMP TABLE ddlrepl_{kind} AS"
                f" SELECT {columns} FROM {here} EXCEPT ALL SELECT {columns} FROM {there}"
            )
        key = [quote(name) for name in key_names(self.task)]
        key = key if set(key) <= set(names) else []
        return self._by_key(plain, key, names) if key else self._by_row(plain, names)

    def _by_key(self, plain: TableReport, key: Sequence[str], names: Sequence[str]) -> TableReport:
        same = " AND ".join(f"m.{name} = e.{name}" for name in key)
        m, e = f"ddlrepl_{Kind.MISSING}", f"ddlrepl_{Kind.EXTRA}"
        found: list[RowDifference] = []
        for kind, here, there, alias in ((Kind.MISSING, m, e, "m"), (Kind.EXTRA, e, m, "e")):
            other = "e" if alias == "m" else "m"
            query = f"FROM {here} AS {alias} WHERE NOT EXISTS (SELECT 1 FROM {there} AS {other} WHERE {same})"
            found += [RowDifference(kind, text) for text in self._keys(key, query, alias)]
        differs = ", ".join(f"m.{name} IS DISTINCT FROM e.{name}" for name in names)
        keys = key_text(f"m.{name}" for name in key)
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
        text = key_text(f"{alias}.{name}" for name in names)
        rows = self.connection.execute(f"SELECT {text} {query}").fetchall()
        return [text for (text,) in rows]

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
