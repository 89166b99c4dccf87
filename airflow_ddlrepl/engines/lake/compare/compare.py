"""This module compares tables of a lake with their sources: every column of every row, as values held there."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.compare.report import Kind, RowDifference, TableReport
from airflow_ddlrepl.compare.structure import left_behind
from airflow_ddlrepl.engines.comparing import CompareTask
from airflow_ddlrepl.engines.lake.catalog.entries import pointer
from airflow_ddlrepl.engines.lake.catalog.metadata import columns_there
from airflow_ddlrepl.engines.lake.compare.rows import (
    COUNT,
    Pairs,
    held_type,
    key_names,
    key_texts,
    pairs_of,
    source_rows,
    target_rows,
)
from airflow_ddlrepl.engines.lake.connection.database import reading
from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.engines.lake.types.type_system import LAKE_TYPES
from airflow_ddlrepl.errors import SourceError

_ROWS_AT_ONCE = 1_000_000
"""So many rows are counted together at least."""


def compare_tables(tasks: Sequence[CompareTask]) -> list[TableReport]:
    """Compare tables of one source with those of one lake; a table that can't be read is reported with the reason.

    All tables of the lake are read as they were at one moment.
    """
    location = tasks[0].target_dsn
    with reading(location) as connection:
        catalog = location_of(location).catalog
        places = [pointer(connection, catalog, one.target, is_view=one.source.is_partitioned) for one in tasks]
    return [_one_table(task, place) for task, place in zip(tasks, places, strict=True)]


def _one_table(task: CompareTask, metadata: str | None) -> TableReport:
    started = time.monotonic()
    try:
        report = _Comparison(task, metadata).report()
    except SourceError as error:
        why = f"it is not compared: {error.code}: {error.message}; {error.hint}"
        return TableReport(task.source.name, task.target, structure=(why,), waits=True)
    return replace(report, seconds=round(time.monotonic() - started, 3))


@dataclass
class _Comparison:
    """A comparison counts each row of the source up and each of the lake down: what is not 0 at the end differs."""

    task: CompareTask
    metadata: str | None
    """The path of the metadata file that the lake's table has; None: there is no such table."""

    def report(self) -> TableReport:
        task, plain = self.task, TableReport(self.task.source.name, self.task.target)
        if task.source.is_partitioned and self.metadata:  # its partitions are compared
            return plain
        if self.metadata is None:
            count = 0 if task.source.is_partitioned else sum(batch.num_rows for batch in task.contents.batches())
            why = ("the table is missing at the target",)
            return replace(plain, source_rows=count, structure=why, missing=count)
        there = columns_there(self.metadata, location_of(task.target_dsn).files)
        pairs = [one for one in pairs_of(task) if there.get(one[1].name) == held_type(task, one[1])]
        theirs, theirs_count = _collapsed(source_rows(task, pairs), pairs)
        ours, ours_count = _collapsed(target_rows(task, pairs, self.metadata), pairs)
        plain = replace(plain, columns=len(pairs), source_rows=theirs_count, target_rows=ours_count)
        plain = replace(plain, structure=tuple(self._structure(there)))
        if not pairs:
            return replace(plain, missing=max(0, theirs_count - ours_count))
        differing, _ = _collapsed([theirs, ours], pairs)
        if not differing.num_rows:
            return plain
        return self._reported(plain, differing.filter(pc.not_equal(differing[COUNT], 0)))

    def _structure(self, found: Mapping[str, str]) -> Iterator[str]:
        task = self.task
        yield from left_behind(task.wanted or task.source, task.shape, LAKE_TYPES)
        wanted = {column.name: held_type(task, column) for column in task.shape.columns}
        for name, held in wanted.items():
            if name not in found:
                yield f"column {name} is missing at the target"
            elif found[name] != held:
                yield f"column {name} has type {found[name]}, should be {held}"
        yield from (f"column {name} is only at the target" for name in found if name not in wanted)

    def _reported(self, plain: TableReport, differing: pa.Table) -> TableReport:
        names = differing.column_names[:-1]
        key = key_names(self.task)
        key = key if set(key) <= set(names) else []
        missing, extra = (differing.filter(compare(differing[COUNT], 0)) for compare in (pc.greater, pc.less))
        found = list(_by_key(missing, extra, key, names) if key else _by_row(missing, extra, names))
        counts = {kind: sum(row.copies for row in found if row.kind is kind) for kind in Kind}
        return replace(
            plain,
            missing=counts[Kind.MISSING],
            extra=counts[Kind.EXTRA],
            different=counts[Kind.DIFFERENT],
            rows=tuple(found[: self.task.limit]),
            unlike=tuple(found),
        )


def _collapsed(parts: Iterable[pa.Table], pairs: Pairs) -> tuple[pa.Table, int]:
    """Return each row once, with how often it counts, and how many rows that were."""
    names, count = [ours.name for _, ours in pairs], 0
    found, waiting = pa.table({}), list[pa.Table]()
    for part in parts:
        count += part.num_rows
        waiting.append(part)
        if sum(one.num_rows for one in waiting) > max(_ROWS_AT_ONCE, found.num_rows):
            found, waiting = _grouped([found, *waiting], names), []
    return _grouped([found, *waiting], names), count


def _grouped(parts: Sequence[pa.Table], names: Sequence[str]) -> pa.Table:
    whole = [one for one in parts if one.num_rows]
    if not names or not whole:
        return parts[-1].slice(0, 0)
    grouped = pa.concat_tables(whole).group_by([*names]).aggregate([(COUNT, "sum")])
    return grouped.rename_columns([*names, COUNT])


def _by_key(missing: pa.Table, extra: pa.Table, key: Sequence[str], names: Sequence[str]) -> Iterator[RowDifference]:
    """Yield rows that one side lacks, and those of both sides that differ, with the columns in which they do."""
    theirs, ours = (key_texts([rows[name] for name in key]) for rows in (missing, extra))
    at = {text: place for place, text in enumerate(ours)}
    both = set(theirs) & at.keys()
    yield from (RowDifference(Kind.MISSING, text) for text in theirs if text not in both)
    yield from (RowDifference(Kind.EXTRA, text) for text in ours if text not in both)
    here = [place for place, text in enumerate(theirs) if text in both]
    there = [at[theirs[place]] for place in here]
    one, other = missing.take(pa.array(here, pa.int64())), extra.take(pa.array(there, pa.int64()))
    flags = [_unlike(one[name], other[name]) for name in names]
    for number, place in enumerate(here):
        columns = tuple(name for name, unlike in zip(names, flags, strict=True) if unlike[number])
        yield RowDifference(Kind.DIFFERENT, theirs[place], columns)


def _unlike(one: pa.ChunkedArray, other: pa.ChunkedArray) -> list[bool]:
    """Return where two columns have different values; NULL is like NULL, and NaN like NaN."""
    same = pc.or_(pc.fill_null(pc.equal(one, other), False), pc.and_(pc.is_null(one), pc.is_null(other)))
    if pa.types.is_floating(one.type):
        same = pc.or_(same, pc.fill_null(pc.and_(pc.is_nan(one), pc.is_nan(other)), False))
    found: list[bool] = pc.invert(same).to_pylist()
    return found


def _by_row(missing: pa.Table, extra: pa.Table, names: Sequence[str]) -> Iterator[RowDifference]:
    for kind, rows in ((Kind.MISSING, missing), (Kind.EXTRA, extra)):
        copies = pc.abs(rows[COUNT]).to_pylist()
        for text, often in zip(key_texts([rows[name] for name in names]), copies, strict=True):
            yield RowDifference(kind, text, copies=often)
