"""This module compares tables of two PostgreSQL databases: every column of every row, exactly, by its text.

The servers compute a digest of all rows each: the sum of their 64-bit hashes, so their order does not
matter and copies count. Only where the two differ are rows read: bucket by bucket of the key, until
the differing keys are known by name.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from airflow_ddlrepl.compare.report import Kind, RowDifference, TableReport
from airflow_ddlrepl.compare.structure import left_behind, structure
from airflow_ddlrepl.ddl.base.same_shape import same_type
from airflow_ddlrepl.engines.comparing import CompareTask
from airflow_ddlrepl.engines.postgres.catalog.server_facts import ServerFacts
from airflow_ddlrepl.engines.postgres.compare.current_rows import current_rows
from airflow_ddlrepl.engines.postgres.compare.temporary_copy import temporary_copy
from airflow_ddlrepl.engines.postgres.connection.conditions import where
from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified, quote, rows_of
from airflow_ddlrepl.engines.postgres.connection.read_errors import unreadable_table
from airflow_ddlrepl.engines.postgres.connection.settings import SPELLING
from airflow_ddlrepl.engines.postgres.load.table_rows import TableRows
from airflow_ddlrepl.engines.postgres.types.row_hash import row_hash
from airflow_ddlrepl.engines.postgres.types.type_system import POSTGRES_TYPES
from airflow_ddlrepl.errors import DdlReplError, SourceError, TargetError
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.target_columns import deletion_column

ROWS_PER_BUCKET = 500
ROWS_PER_LOOK = 200_000
LOOKS = 5
_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


def compare_tables(tasks: Sequence[CompareTask]) -> list[TableReport]:
    """Compare tables of one source and one target; the rows of each side are read under one snapshot.

    Changes that the target has not applied yet count as differences. A table that can't be read (SourceError SRC-180 or
    SRC-174, TargetError TGT-180) is reported with the reason. Raises what a transformation raises.
    """
    with ExitStack() as stack:
        dsn = next((task.contents.dsn for task in tasks if isinstance(task.contents, TableRows)), None)
        here = stack.enter_context(_reader(dsn)) if dsn else None
        there = stack.enter_context(_reader(tasks[0].target_dsn))
        present = ServerFacts(there)
        present.look([task.target for task in tasks])
        return [_compared_alone(task, present, here, there) for task in tasks]


def _compared_alone(
    task: CompareTask, facts: ServerFacts, here: Connection[Any] | None, there: Connection[Any]
) -> TableReport:
    """Compare one table; say why where it can't be read, and let the sessions go on with the next one."""
    from psycopg.pq import TransactionStatus

    try:
        return _compared(task, facts, here, there)
    except (SourceError, TargetError) as error:
        for connection in (here, there):
            if connection is not None and connection.info.transaction_status is TransactionStatus.INERROR:
                connection.execute("ROLLBACK")
                connection.execute(_BEGIN)
        if task.computed and not error.retryable:
            rest = replace(task, uncompared=frozenset(column.id for column in task.computed))
            return _without_computed(_compared_alone(rest, facts, here, there), task, error)
        why = f"it is not compared: {error.code}: {error.message}; {error.hint}"
        return TableReport(task.source.name, task.target, structure=(why,), waits=True)


def _without_computed(found: TableReport, task: CompareTask, error: DdlReplError) -> TableReport:
    """Return the report of a table whose other columns are compared: a server can't compute these for some row."""
    names = ", ".join(column.name for column in task.computed)
    said = " ".join(str(error.__context__ or error.message).split())
    why = f"not compared: {names}, which a server computes when it is read, and can't for some row: {said}"
    return found if found.waits else replace(found, structure=(*found.structure, why))


def _compared(
    task: CompareTask, facts: ServerFacts, here: Connection[Any] | None, there: Connection[Any]
) -> TableReport:
    started = time.monotonic()
    found, rows = facts.table(task.target), task.contents
    if found is None:
        report = _without_target(task, here)
    elif here is not None and isinstance(rows, TableRows) and not _is_copied(task, rows):
        report = _Comparer(task, found, here, there, where(rows.condition)).report()
    else:
        report = _copied(task, found, there)
    return replace(report, seconds=round(time.monotonic() - started, 3))


def _is_copied(task: CompareTask, rows: TableRows) -> bool:
    """Are the source's rows copied to the target: no server has them as the target is to have them, or no query may?"""
    return not task.source.is_partitioned and (rows.is_plain or rows.transform is not None or bool(task.unfit))


def _copied(task: CompareTask, found: Table, there: Connection[Any]) -> TableReport:
    """Compare rows that no server has as the target is to have them.

    A function computes values of them, or some are replaced that the target's columns can't hold.
    """
    with temporary_copy(task) as (here, copied, discarded):
        as_copied = replace(task, source=copied, wanted=task.wanted or task.source)
        report = _Comparer(as_copied, found, here, there).report()
        return replace(report, table=task.source.name, discarded=discarded)


@contextmanager
def _reader(dsn: str) -> Iterator[Connection[Any]]:
    with session(dsn, autocommit=True, application_name="ddlrepl compare") as connection:
        connection.execute(f"{SPELLING}; SET work_mem = '128MB'".encode())
        connection.execute(_BEGIN)
        yield connection


def _without_target(task: CompareTask, here: Connection[Any] | None) -> TableReport:
    rows = task.contents
    if task.source.is_partitioned:
        count = 0
    elif here is not None and isinstance(rows, TableRows) and not rows.is_plain:
        side = _Side(here, task.source.name, (), (), "source", where(rows.condition))
        count = int(side.ask(f"SELECT count(*) FROM {side.rows}")[0][0])
    else:
        rows = replace(rows, scratch=task.target_dsn) if isinstance(rows, TableRows) else rows
        count = sum(batch.num_rows for batch in rows.batches())
    lines = ("the table is missing at the target",)
    return TableReport(task.source.name, task.target, source_rows=count, structure=lines, missing=count)


@dataclass(frozen=True, slots=True)
class _Side:
    """A side is the source's or the target's table in a comparison: its columns and key as SQL, and its connection.

    place: source or target. wanted: SQL, of rows. relation: SQL of what they are in; empty: the table.
    """

    connection: Connection[Any]
    table: TableName
    columns: tuple[str, ...]
    key: tuple[str, ...]
    place: str
    wanted: str = ""
    relation: str = ""

    @property
    def rows(self) -> str:
        """Return the FROM clause: the table, and which of its rows."""
        return f"{self.relation or f'ONLY {qualified(self.table)}'}{f' WHERE {self.wanted}' if self.wanted else ''}"

    @property
    def row_text(self) -> str:
        """Return SQL for a row's text, in which NULL differs from '', one column from the next.

        Each type has its own output.
        """
        return f"ROW({', '.join(self.columns)})::text"

    @property
    def key_text(self) -> str:
        return f"ROW({', '.join(self.key)})::text" if self.key else self.row_text

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        import psycopg

        try:
            return self.connection.execute(query.encode()).fetchall()
        except psycopg.Error as error:
            raise unreadable_table(self.place, self.table, error) from None


class _Comparer:
    """A comparer compares one table that exists on both sides.

    wanted: SQL that is true for the source's rows to compare; empty: all.
    """

    def __init__(
        self, task: CompareTask, found: Table, here: Connection[Any], there: Connection[Any], wanted: str = ""
    ) -> None:
        self.task = task
        self.found = found
        held = {c.name: c for c in found.columns}
        theirs = {c.id: c for c in task.source.columns}
        pairs = [(theirs[c.id], held[c.name]) for c in task.shape.columns if c.id in theirs and c.name in held]
        pairs = [pair for pair in pairs if pair[0].id not in task.uncompared]
        self.names = [ours.name for _, ours in pairs]
        mine = {source.id: value(source, target) for source, target in pairs}
        other = {source.id: quote(target.name) for source, target in pairs}
        key = [i for i in (task.source.key.columns if task.source.key else ()) if i in mine]
        key = key if task.source.key and len(key) == len(task.source.key.columns) else []
        flag = deletion_column(task.shape)
        alive = f"NOT {quote(flag)}" if flag in held else ""
        relation = current_rows(task.shape, task.target, tuple(other[i] for i in key)) or rows_of(found)
        self.sides = (
            _Side(here, task.source.name, tuple(mine.values()), tuple(mine[i] for i in key), "source", wanted),
            _Side(there, task.target, tuple(other.values()), tuple(other[i] for i in key), "target", alive, relation),
        )
        self.is_alike = len({side.info.parameter_status("server_encoding") for side in (here, there)}) == 1
        self.types = [source.type if same_type(source.type, target.type) else None for source, target in pairs]

    def report(self) -> TableReport:
        source, wanted = self.task.wanted or self.task.source, self.task.shape
        base: dict[str, Any] = {
            "table": self.task.source.name,
            "target": self.task.target,
            "structure": structure(source, wanted, self.found, POSTGRES_TYPES),
            "behind": tuple(left_behind(source, wanted, POSTGRES_TYPES)),
        }
        if self.task.source.is_partitioned:
            return TableReport(**base, columns=len(self.names))
        if not self.names:
            return TableReport(**base, **self._counted())
        if self.task.named:
            rows = [RowDifference(Kind.DIFFERENT, key) for key in self.task.named]
            return TableReport(**base, unlike=self._with_columns(rows))
        ours, theirs = self._both(self._digest)
        base |= {"columns": len(self.names), "source_rows": int(ours[0][0]), "target_rows": int(theirs[0][0])}
        if ours == theirs:
            return TableReport(**base)
        rows, is_partial = self._rows(max(base["source_rows"], base["target_rows"]))
        counts: dict[str, Any] = {kind.value: sum(r.copies for r in rows if r.kind is kind) for kind in Kind}
        limit = self.task.limit
        named = self._with_columns(rows[:limit])
        shown = tuple(row.cut for row in named)
        return TableReport(**base, **counts, rows=shown, is_partial=is_partial, unlike=(*named, *rows[limit:]))

    def _counted(self) -> dict[str, Any]:
        """Return how many rows each side has, and how many more than the other: no column tells them apart."""
        ours, theirs = self._both(lambda side: side.ask(f"SELECT count(*) FROM {side.rows}"))
        here, there = int(ours[0][0]), int(theirs[0][0])
        unlike = {Kind.MISSING.value: max(0, here - there), Kind.EXTRA.value: max(0, there - here)}
        return {"source_rows": here, "target_rows": there, **unlike}

    def _digest(self, side: _Side) -> list[tuple[Any, ...]]:
        """Return how many rows a side has, and the sum of their hashes."""
        if not self.is_alike:
            return _from_text(side, f"count(*), sum({self._hash('t', 0)})")
        row = row_hash(list(zip(side.columns, self.types, strict=True)), side.connection.info.server_version)
        return side.ask(f"SELECT count(*), sum({row}) FROM {side.rows}")

    def _both(self, ask: Any) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
        """Return the answers of both servers to one question, asked at once."""
        with ThreadPoolExecutor(2) as pool:
            first, second = pool.map(ask, self.sides)
        return first, second

    def _rows(self, count: int) -> tuple[list[RowDifference], bool]:
        """Return the rows that differ, by key, and whether there are more than were read."""
        mask = (1 << max(0, min(20, (count // ROWS_PER_BUCKET).bit_length()))) - 1
        buckets = self._buckets(mask)
        share = max(1, ROWS_PER_LOOK // max(1, count // (mask + 1)))
        looks = [buckets[i : i + share] for i in range(0, len(buckets), share)]
        found: list[RowDifference] = []
        for done, look in enumerate(looks):
            if done >= LOOKS and len(found) >= self.task.limit:
                return _ordered(found), True
            found += self._look(mask, look)
        return _ordered(found), False

    def _buckets(self, mask: int) -> list[int]:
        """Return the buckets whose digests differ."""
        select = f"{self._bucket(mask)} AS b, count(*), sum({self._hash('t', 0)})"
        ours, theirs = self._both(lambda s: _from_text(s, select, " GROUP BY 1"))
        return sorted({row[0] for row in set(ours) ^ set(theirs)})

    def _look(self, mask: int, buckets: Sequence[int]) -> Iterator[RowDifference]:
        wanted = ", ".join(str(int(b)) for b in buckets)
        select = f"k, count(*), sum({self._hash('t', 0)})"
        tail = f" WHERE {self._bucket(mask)} IN ({wanted}) GROUP BY 1"
        ours, theirs = self._both(lambda s: {r[0]: r[1:] for r in _from_text(s, select, tail)})
        return _unlike(dict(ours), dict(theirs))

    def _bucket(self, mask: int) -> str:
        return f"({self._hash('k', 2)} & {mask})"

    def _hash(self, text: str, seed: int) -> str:
        """Return SQL for the hash of a text's bytes; databases with different encodings hash those of UTF-8."""
        spelled = text if self.is_alike else f"encode(convert_to({text}, 'UTF8'), 'hex')"
        return f'hashtextextended({spelled} COLLATE "C", {seed})'

    def _with_columns(self, rows: Sequence[RowDifference]) -> tuple[RowDifference, ...]:
        """Return the rows with the columns that differ, for rows that exist on both sides."""
        keys = [row.key for row in rows if row.kind is Kind.DIFFERENT]
        values: tuple[Any, Any] = ({}, {})
        if keys:
            tail = f' WHERE k COLLATE "C" IN ({", ".join(literal(k) for k in keys)})'
            values = self._both(lambda s: dict(_from_text(s, "k, v", tail, with_values=True)))
        return tuple(self._named(row, values) for row in rows)

    def _named(self, row: RowDifference, values: tuple[Any, Any]) -> RowDifference:
        ours, theirs = (side.get(row.key, ()) for side in values)
        names = tuple(name for name, a, b in zip(self.names, ours, theirs) if a != b)
        return RowDifference(row.kind, row.key, names, row.copies)


def _from_text(side: _Side, select: str, tail: str = "", *, with_values: bool = False) -> list[tuple[Any, ...]]:
    """Query one side about `t`, each row's text, and `k`, its key's; `v`: each column's."""
    values = f", ARRAY[{', '.join(f'ROW({c})::text' for c in side.columns)}] AS v" if with_values else ""
    rows = f"SELECT {side.row_text} AS t, {side.key_text} AS k{values} FROM {side.rows}"
    return side.ask(f"SELECT {select} FROM ({rows}) AS r{tail}")


def value(source: Column, target: Column) -> str:
    """Return SQL for the source's value as the target shows it."""
    name = quote(source.name)
    if same_type(source.type, target.type) or not target.type.is_builtin:
        return name
    there = f"ROW({name})::text <> '()'"  # of a composite whose attributes are all NULL, IS NULL is true as well
    return f"CAST(CASE WHEN {there} THEN format('%s', {name}) END AS {target.type.text})"


def _unlike(ours: dict[str, tuple[Any, ...]], theirs: dict[str, tuple[Any, ...]]) -> Iterator[RowDifference]:
    for key in ours.keys() | theirs.keys():
        mine, other = ours.get(key), theirs.get(key)
        if mine == other:
            continue
        more = (mine[0] if mine else 0) - (other[0] if other else 0)
        if more:
            yield RowDifference(Kind.MISSING if more > 0 else Kind.EXTRA, key, copies=abs(more))
        else:
            yield RowDifference(Kind.DIFFERENT, key)


def _ordered(rows: Iterable[RowDifference]) -> list[RowDifference]:
    return sorted(rows, key=lambda row: row.key)
