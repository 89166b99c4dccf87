"""This module compares tables of a lake with their sources: every column of every row, as values held there.

No Java is started: PyIceberg reads the lake's rows, and DuckDB compares them in the task, in bounded memory.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from airflow_ddlrepl.compare.report import TableReport
from airflow_ddlrepl.engines.comparing import CompareTask
from airflow_ddlrepl.engines.duckdb_sql.comparison import Differences, missing_table, structure
from airflow_ddlrepl.engines.duckdb_sql.instances import spilling
from airflow_ddlrepl.engines.duckdb_sql.present_rows import present_rows
from airflow_ddlrepl.engines.duckdb_sql.quoting import quote
from airflow_ddlrepl.engines.duckdb_sql.source_rows import Pairs, SourceRows, key_names, pairs_of
from airflow_ddlrepl.engines.lake.catalog.metadata import columns_there
from airflow_ddlrepl.engines.lake.catalog.pointers import pointers
from airflow_ddlrepl.engines.lake.catalog.scan import LakeRows
from airflow_ddlrepl.engines.lake.compare.digests import Digests, within
from airflow_ddlrepl.engines.lake.connection.database import reading
from airflow_ddlrepl.engines.lake.connection.location import Location, location_of
from airflow_ddlrepl.engines.lake.types.in_duckdb import duckdb_type
from airflow_ddlrepl.engines.lake.types.physical import physical
from airflow_ddlrepl.engines.lake.types.type_system import LAKE_TYPES
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.target_columns import retains_rows

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection
    from sqlalchemy import Connection as SqlConnection

_TARGET = "ddlrepl_target"
"""The temporary table with rows of the lake."""
_BATCH = "ddlrepl_lake_batch"


def compare_tables(tasks: Sequence[CompareTask]) -> list[TableReport]:
    """Compare tables of one source with those of one lake; a table that can't be read is reported with the reason.

    All tables of the lake are read as they were at one moment.
    """
    location = tasks[0].target_dsn
    with reading(location) as connection:
        places = [_metadata(connection, location_of(location), one) for one in tasks]
    with spilling() as connection:
        return [_one_table(connection, task, place) for task, place in zip(tasks, places, strict=True)]


def _metadata(connection: SqlConnection, place: Location, task: CompareTask) -> str | None:
    """Return the metadata file of a table; a partitioned table has none, but is to have a view if the catalog can."""
    if not task.source.is_partitioned:
        return pointers(place).of(connection, task.target)
    views = pointers(place).views
    return "" if views is None or views.has(connection, task.target) else None


def _one_table(connection: Connection, task: CompareTask, metadata: str | None) -> TableReport:
    started = time.monotonic()
    try:
        report = missing_table(task) if metadata is None else _report(connection, task, metadata)
    except SourceError as error:
        why = f"it is not compared: {error.code}: {error.message}; {error.hint}"
        return TableReport(task.source.name, task.target, structure=(why,), waits=True)
    return replace(report, seconds=round(time.monotonic() - started, 3))


def _report(connection: Connection, task: CompareTask, metadata: str) -> TableReport:
    plain = TableReport(task.source.name, task.target)
    if task.source.is_partitioned:  # its partitions are compared
        return replace(plain, columns=len(pairs_of(task)))
    files, types = location_of(task.target_dsn).files, task.shape.types
    there = columns_there(metadata, files)
    plain = replace(plain, structure=tuple(structure(task, there, LAKE_TYPES)))
    pairs = [one for one in pairs_of(task) if there.get(one[1].name) == physical(one[1].type, types)]
    own = [one for one in task.shape.columns if one.extra and there.get(one.name) == physical(one.type, types)]
    gathered = [*(ours for _, ours in pairs), *(own if retains_rows(task.shape) else ())]
    comparison = _Comparison(connection, task, pairs, LakeRows(metadata, files), gathered)
    plain = replace(plain, columns=len(pairs))
    if not pairs:
        return comparison.counted(plain)
    return comparison.whole(plain) if retains_rows(task.shape) else comparison.by_buckets(plain)


@dataclass
class _Comparison:
    """A comparison of one table; what it gathers in DuckDB replaces what the one before has left there.

    gathered: the columns of the lake that are read.
    """

    connection: Connection
    task: CompareTask
    pairs: Pairs
    rows: LakeRows
    gathered: Sequence[Column]

    def counted(self, plain: TableReport) -> TableReport:
        """Count the rows of both sides, which have no column in common."""
        theirs = sum(batch.num_rows for batch in self.task.contents.batches())
        ours = sum(batch.num_rows for batch in self.rows.batches({}))
        return replace(plain, source_rows=theirs, target_rows=ours, missing=max(0, theirs - ours))

    def whole(self, plain: TableReport) -> TableReport:
        """Gather all rows of both sides: which of the lake's the source has now, all of them say together."""
        copied, total = self._source.copy()
        self._copy()
        target = present_rows(self.task.shape, _TARGET, list(map(quote, key_names(self.task))))
        count = self.connection.execute(f"SELECT count(*) FROM {target}").fetchall()[0][0]
        plain = replace(plain, source_rows=copied, discarded=total - copied, target_rows=int(count))
        return Differences(self.connection, self.task, target).of(plain, self.pairs)

    def by_buckets(self, plain: TableReport) -> TableReport:
        """Read both sides for their digests, and gather the rows of those buckets that differ."""
        names = [quote(ours.name) for _, ours in self.pairs]
        key = [quote(name) for name in key_names(self.task)]
        key = key if key and set(key) <= set(names) else names
        theirs, ours, total = Digests(), Digests(), 0
        for answer, count in self._source.each(lambda rows: Digests.query(key, names, rows)):
            theirs.add(answer)
            total += count
        for rows in self._batches():
            ours.add(self.connection.execute(Digests.query(key, names, rows)).fetchall())
        plain = replace(plain, source_rows=theirs.rows, discarded=total - theirs.rows, target_rows=ours.rows)
        unlike = theirs.unlike(ours)
        if not unlike:
            return plain
        chosen = [pair for pair in self.pairs if quote(pair[1].name) in key]
        values = {quote(pair[1].name): sql for pair, sql in zip(chosen, self._source.values(chosen), strict=True)}
        self._source.copy([within([values[name] for name in key], unlike)])
        self._copy(within(key, unlike))
        return Differences(self.connection, self.task, _TARGET).of(plain, self.pairs)

    @property
    def _source(self) -> SourceRows:
        return SourceRows(self.connection, self.task, self.pairs, duckdb_type)

    def _batches(self) -> Iterator[str]:
        """Yield SQL for the lake's rows, part by part."""
        types = self.task.shape.types
        casts = (
            f"CAST({quote(one.name)} AS {duckdb_type(one.type, types)}) AS {quote(one.name)}" for one in self.gathered
        )
        query = f"SELECT {', '.join(casts)} FROM {_BATCH}"
        for batch in self.rows.batches({one.name: physical(one.type, types) for one in self.gathered}):
            self.connection.register(_BATCH, batch)
            yield query
            self.connection.unregister(_BATCH)

    def _copy(self, where: str = "true") -> None:
        """Gather rows of the lake."""
        types = self.task.shape.types
        columns = ", ".join(f"{quote(one.name)} {duckdb_type(one.type, types)}" for one in self.gathered)
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {_TARGET} ({columns})")
        for rows in self._batches():
            self.connection.execute(f"INSERT INTO {_TARGET} SELECT * FROM ({rows}) WHERE {where}")
