"""This module compares the rows of a target's table with the source's by DuckDB: every column of every row.

A value that its type can't hold differs: it is NULL there, and counted by the text of its row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.compare.report import Kind, RowDifference, TableReport
from airflow_ddlrepl.compare.structure import left_behind
from airflow_ddlrepl.engines.comparing import CompareTask
from airflow_ddlrepl.engines.duckdb_sql.quoting import quote
from airflow_ddlrepl.engines.duckdb_sql.source_rows import SOURCE, Pairs, key_names, key_text
from airflow_ddlrepl.engines.held_types.type_system import HeldTypes

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

MOST_NAMED = 200_000
"""So many rows of a kind are named at most; how many differ is exact always."""


def missing_table(task: CompareTask) -> TableReport:
    """Return the report of a table that the target does not have."""
    count = 0 if task.source.is_partitioned else sum(batch.num_rows for batch in task.contents.batches())
    why = ("the table is missing at the target",)
    return TableReport(task.source.name, task.target, source_rows=count, structure=why, missing=count)


def structure(task: CompareTask, found: Mapping[str, str], types: HeldTypes) -> Iterator[str]:
    """Yield in words what differs in the shape. found: the target's names of the types of the columns there."""
    yield from left_behind(task.wanted or task.source, task.shape, types)
    wanted = {column.name: types.type_name(column.type, task.shape.types) for column in task.shape.columns}
    for name, held in wanted.items():
        if name not in found:
            yield f"column {name} is missing at the target"
        elif found[name] != held:
            yield f"column {name} has type {found[name]}, should be {held}"
    yield from (f"column {name} is only at the target" for name in found if name not in wanted)


@dataclass(frozen=True, slots=True)
class Differences:
    """These are the differences of two tables. target: SQL for the target's rows that the source is to have, too."""

    connection: Connection
    task: CompareTask
    target: str

    def of(self, plain: TableReport, pairs: Pairs) -> TableReport:
        """Return the report with the rows that differ; where there is a key, by it.

        The source's are in the table `SOURCE`.
        """
        names = [quote(ours.name) for _, ours in pairs]
        if not names:
            return replace(plain, missing=max(0, plain.source_rows - plain.target_rows))
        columns = ", ".join(names)
        for kind, here, there in ((Kind.MISSING, SOURCE, self.target), (Kind.EXTRA, self.target, SOURCE)):
            self.connection.execute(
                f"CREATE OR REPLACE TEMP TABLE ddlrepl_{kind} AS"
                f" SELECT {columns} FROM {here} EXCEPT ALL SELECT {columns} FROM {there}"
            )
        key = [quote(name) for name in key_names(self.task)]
        return self._by_key(plain, key, names) if key and set(key) <= set(names) else self._by_row(plain, names)

    def _by_key(self, plain: TableReport, key: Sequence[str], names: Sequence[str]) -> TableReport:
        same = " AND ".join(f"m.{name} = e.{name}" for name in key)
        m, e = f"ddlrepl_{Kind.MISSING}", f"ddlrepl_{Kind.EXTRA}"
        found: dict[Kind, tuple[int, list[RowDifference]]] = {}
        for kind, here, there, alias in ((Kind.MISSING, m, e, "m"), (Kind.EXTRA, e, m, "e")):
            other = "e" if alias == "m" else "m"
            query = f"FROM {here} AS {alias} WHERE NOT EXISTS (SELECT 1 FROM {there} AS {other} WHERE {same})"
            rows = self._rows(f"SELECT {key_text(f'{alias}.{name}' for name in key)} {query}")
            found[kind] = self._count(query), [RowDifference(kind, text) for (text,) in rows]
        differs = ", ".join(f"m.{name} IS DISTINCT FROM e.{name}" for name in names)
        keys, both = key_text(f"m.{name}" for name in key), f"FROM {m} AS m JOIN {e} AS e ON {same}"
        unlike = []
        for text, *flags in self._rows(f"SELECT {keys}, {differs} {both}"):
            columns = tuple(name.strip('"') for name, differ in zip(names, flags, strict=True) if differ)
            unlike.append(RowDifference(Kind.DIFFERENT, text, columns))
        found[Kind.DIFFERENT] = self._count(both), unlike
        return self._reported(plain, found)

    def _by_row(self, plain: TableReport, names: Sequence[str]) -> TableReport:
        found = {}
        for kind in (Kind.MISSING, Kind.EXTRA):
            query = f"FROM ddlrepl_{kind} AS r"
            rows = self._rows(f"SELECT {key_text(f'r.{name}' for name in names)} AS k, count(*) {query} GROUP BY k")
            found[kind] = self._count(query), [RowDifference(kind, text, copies=copies) for text, copies in rows]
        return self._reported(plain, found)

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self.connection.execute(f"{query} LIMIT {MOST_NAMED}").fetchall()
        return found

    def _count(self, query: str) -> int:
        return int(self.connection.execute(f"SELECT count(*) {query}").fetchall()[0][0])

    def _reported(self, plain: TableReport, found: Mapping[Kind, tuple[int, list[RowDifference]]]) -> TableReport:
        counts = {kind: found[kind][0] if kind in found else 0 for kind in Kind}
        rows = [row for _, named in found.values() for row in named]
        return replace(
            plain,
            missing=counts[Kind.MISSING],
            extra=counts[Kind.EXTRA],
            different=counts[Kind.DIFFERENT],
            rows=tuple(rows[: self.task.limit]),
            unlike=tuple(rows),
            is_partial=sum(row.copies for row in rows) < sum(counts.values()),
        )
