"""Stage: read one table's rows from the trail, net them, copy the result into staging tables of the target.

Independent per table (and per bucket of a big one), so it runs in parallel; nothing a reader of the
target sees changes. A stage may run twice: it drops what an earlier run left.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.engines.postgres.load import all_names, drop_stages, load, loading, stage_table
from airflow_ddlrepl.engines.postgres.names import literal
from airflow_ddlrepl.engines.postgres.staged import Stage, Staged, StagedColumn, staged_columns
from airflow_ddlrepl.engines.postgres.target_keys import numbered
from airflow_ddlrepl.errors import ConfigError, TargetError
from airflow_ddlrepl.integrate.buckets import bucket_of
from airflow_ddlrepl.integrate.equality import Equality, KeyColumn, equality
from airflow_ddlrepl.integrate.images import net_images
from airflow_ddlrepl.integrate.net import NetRows, has_key_updates, net
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.model.table import Column, Identity, Table
from airflow_ddlrepl.trail.manifest import RowFile
from airflow_ddlrepl.trail.store import Trail

ROWS_PER_BUCKET = 1_000_000


@dataclass(frozen=True, slots=True)
class StageTask:
    """One table's rows in [low, high) to stage; picklable, its text never shows the location.

    dsn: of the target; or dsn_env: the environment variable that holds it. files: of one layout, in log
    order (`sections`). skip_lsns: commit positions of transactions that a refresh already contains.
    table: the source's shape valid for these rows. target: the target's shape at this moment; columns
    belong together by id. target_name: of the table to change (a partition's own). bucket, buckets:
    which part of the keys. stage_name: unique per channel, target, table, section and bucket.
    """

    dsn: str = field(repr=False)
    trail_url: str = field(repr=False)
    channel: str
    files: tuple[RowFile, ...]
    low: LogKey
    high: LogKey
    table: Table
    target: Table
    target_name: TableName
    stage_name: str
    skip_lsns: frozenset[int] = frozenset()
    bucket: int = 0
    buckets: int = 1
    dsn_env: str = ""

    @property
    def location(self) -> str:
        """Where the target is; for connecting, never for showing."""
        found = os.environ.get(self.dsn_env, "") if self.dsn_env else self.dsn
        if not found:
            raise ConfigError(
                f"the environment variable {self.dsn_env} that should hold the target's location is not set",
                code="CFG-123",
                hint="pass it on to where the task runs",
            )
        return found


def sections(files: Sequence[RowFile]) -> list[tuple[RowFile, ...]]:
    """Files in log order cut where their layout changes: stage and merge one section after the other."""
    return [tuple(run) for _, run in groupby(files, _layout)]


def bucket_count(files: Sequence[RowFile], parallelism: int) -> int:
    """Into how many buckets these rows are worth cutting; 1 when keys may change."""
    rows = sum(file.rows for file in files)
    if any(file.key_updates and file.identity is not Identity.FULL for file in files):
        return 1
    return max(1, min(parallelism, rows * 2 // ROWS_PER_BUCKET))


def buckets_of(task: StageTask, buckets: int) -> list[StageTask]:
    """The same work as that many tasks."""
    return [
        replace(
            task, bucket=i, buckets=buckets, stage_name=f"{task.stage_name}_{i}" if buckets > 1 else task.stage_name
        )
        for i in range(buckets)
    ]


def stage(task: StageTask) -> Staged:
    """Stages one task; what it returns is what `merge` needs.

    Raises TargetError INT-103 (key not in the target), INT-111 (an old row is missing), INT-120 (the
    target refuses the rows), TrailError for damaged files.
    """
    plan = _Plan(task)
    with loading(task.location, task.target_name) as cursor:
        drop_stages(cursor, all_names(task.stage_name))
        changes = plan.read()
        if not changes.num_rows:
            return plan.staged({}, 0)
        rows = plan.images(changes) if task.table.key is None else plan.net(changes, cursor)
        for kind, table in rows.items():
            load(cursor, stage_table(task.stage_name, kind), plan.staging_columns(table), table)
    return plan.staged(rows, changes.num_rows)


class _Plan:
    """What of the rows is wanted, and under which names."""

    def __init__(self, task: StageTask) -> None:
        self.task = task
        layouts = {_layout(file) for file in task.files}
        if len(layouts) > 1:
            raise ValueError("files of different layouts in one task: cut them by sections()")
        self.layout = task.files[0].columns if task.files else ()
        self.encodings = {column.name: column.encoding for column in self.layout}
        self.key = tuple(
            KeyColumn(c.name, equality(c, self.encodings.get(c.name, ""), task.table.types))
            for c in task.table.key_columns()
        )
        self.columns = staged_columns(task.table, task.target, self.encodings, self._loose_keys())
        missing = {c.name for c in self.key} - {c.source_name for c in self.columns}
        if missing and self.layout:
            raise TargetError(
                f"key columns are missing in the rows or the target: {', '.join(sorted(missing))}",
                code="INT-103",
                table=task.target_name,
                hint="refresh the table, or keep its key columns in the target",
            )

    def _loose_keys(self) -> tuple[int, ...]:
        columns = self.task.table.key_columns()
        return tuple(c.id for c, key in zip(columns, self.key) if key.equality is not Equality.BYTES)

    def read(self) -> pa.Table:
        """The rows of this bucket, in log order."""
        trail = Trail(self.task.trail_url, self.task.channel)
        if self.task.buckets > 1 and not self._can_split(trail):
            return pa.table({"op": pa.array([], pa.int8())}) if self.task.bucket else self._all(trail)
        return self._all(trail, split=self.task.buckets > 1)

    def _can_split(self, trail: Trail) -> bool:
        """The same answer in every bucket's task: they all see the same rows."""
        if not self.key or any(key.equality is Equality.TARGET for key in self.key):
            return False
        if any(file.key_updates and file.identity is not Identity.FULL for file in self.task.files):
            return False
        names = [key.name for key in self.key]
        wanted = ["lsn", "op", "before", "absent", *(f"{side}_{name}" for name in names for side in "ab")]
        return not any(
            has_key_updates(batch, self._names(), self.key)
            for file in self.task.files
            if file.key_updates
            for batch in self._batches(trail, file, wanted)
        )

    def _all(self, trail: Trail, split: bool = False) -> pa.Table:
        tables = []
        for file in self.task.files:
            for batch in self._batches(trail, file, self._wanted(file)):
                batch = self._with_old_keys(batch)
                if split:
                    mine = bucket_of(batch, self.key, self.task.buckets) == self.task.bucket
                    batch = batch.filter(pa.array(mine))
                tables.append(batch)
        if not tables:
            return pa.table({"op": pa.array([], pa.int8())})
        return _in_order(pa.concat_tables(tables))

    def _batches(self, trail: Trail, file: RowFile, columns: list[str]) -> Iterator[pa.Table]:
        skipped = pa.array(sorted(self.task.skip_lsns), pa.int64())
        for batch in trail.batches(file, self.task.low, self.task.high, columns):
            yield batch.filter(pc.invert(pc.is_in(batch["lsn"], skipped))) if len(skipped) else batch

    def _wanted(self, file: RowFile) -> list[str]:
        names = [column.source_name for column in self.columns]
        told = {c.name for c in file.columns if c.is_key or file.identity is Identity.FULL}
        old = [name for name in ([key.name for key in self.key] or names) if name in told]
        return ["lsn", "seq", "op", "before", "absent", *(f"a_{n}" for n in names), *(f"b_{n}" for n in old)]

    def _with_old_keys(self, batch: pa.Table) -> pa.Table:
        """Rows of a table whose log tells no old keys (inserts only) get empty ones."""
        for key in self.key:
            if f"b_{key.name}" not in batch.column_names:
                batch = batch.append_column(f"b_{key.name}", pa.nulls(batch.num_rows, batch[f"a_{key.name}"].type))
        return batch

    def _names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.layout)

    def net(self, changes: pa.Table, cursor: Any) -> dict[Stage, pa.Table]:
        """The net change by key."""
        ids = None
        if any(key.equality is Equality.TARGET for key in self.key):
            name = stage_table(self.task.stage_name, "k")
            ids = numbered(cursor, name, changes, self._names(), self.key, self.columns)
        rows: NetRows = net(changes, self._names(), self.key, [c.source_name for c in self.columns], ids)
        tables = {
            Stage.DELETES: rows.deletes,
            Stage.UPDATES: rows.updates,
            Stage.MOVES: rows.moves,
            Stage.INSERTS: rows.inserts,
        }
        return {kind: self._renamed(table) for kind, table in tables.items() if table.num_rows}

    def images(self, changes: pa.Table) -> dict[Stage, pa.Table]:
        """The net change of a table without a key."""
        if self.task.bucket:
            return {}
        try:
            rows = net_images(changes, [column.source_name for column in self.columns])
        except (ValueError, KeyError):
            raise TargetError(
                "an update or delete of a table without a key came without the old row",
                code="INT-111",
                table=self.task.target_name,
                hint="set REPLICA IDENTITY FULL at the source and refresh the table",
            ) from None
        copies = rows["copies"]
        went = rows.filter(pc.less(copies, 0))
        went = went.set_column(went.num_columns - 1, "copies", pc.negate(went["copies"]))
        tables = {Stage.REMOVED: went, Stage.ADDED: rows.filter(pc.greater(copies, 0))}
        return {kind: self._renamed(table) for kind, table in tables.items() if table.num_rows}

    def _renamed(self, table: pa.Table) -> pa.Table:
        short = {"copies": "n"}
        for column in self.columns:
            for long_prefix, prefix in (("a", "c"), ("b", "k"), ("h", "h")):
                short[f"{long_prefix}_{column.source_name}"] = f"{prefix}{column.id}"
        return table.rename_columns([short[name] for name in table.column_names])

    def staging_columns(self, table: pa.Table) -> list[tuple[str, str]]:
        types = {str(column.id): column.staging_type for column in self.columns}
        fixed = {"n": "int8", "h": "bool"}
        return [(name, fixed.get(name[0]) or types[name[1:]]) for name in table.column_names]

    def staged(self, rows: dict[Stage, pa.Table], changes: int) -> Staged:
        return Staged(
            table_id=self.task.table.id,
            target=self.task.target_name,
            columns=self.columns,
            tables={kind: stage_table(self.task.stage_name, kind) for kind in rows},
            rows={kind: _row_count(table) for kind, table in rows.items()},
            held={
                kind: tuple(int(name[1:]) for name in table.column_names if name[0] == "h")
                for kind, table in rows.items()
                if kind in (Stage.UPDATES, Stage.MOVES)
            },
            fills=tuple(_fills(self.columns, self.task.target)),
            replaces=_replaces(self.columns, self.task.target),
            changes=changes,
        )


def _layout(file: RowFile) -> tuple[object, ...]:
    return file.identity, tuple((c.name, c.encoding, c.is_key) for c in file.columns)


def _in_order(changes: pa.Table) -> pa.Table:
    lsn, seq = changes["lsn"].to_numpy(), changes["seq"].to_numpy()
    later = (lsn[1:] > lsn[:-1]) | ((lsn[1:] == lsn[:-1]) & (seq[1:] > seq[:-1]))
    return changes if bool(later.all()) else changes.take(pa.array(np.lexsort((seq, lsn))))


def _row_count(table: pa.Table) -> int:
    return int(pc.sum(table["n"]).as_py()) if "n" in table.column_names else int(table.num_rows)


def _fills(columns: Sequence[StagedColumn], target: Table) -> Iterator[tuple[str, str]]:
    """Columns that are younger than the rows show what the source shows there; others take their default."""
    known = {column.id for column in columns}
    for column in target.columns:
        if column.id not in known and column.missing is not None and not column.generated:
            yield column.name, _missing(column)


def _missing(column: Column) -> str:
    return f"CAST({literal(column.missing or '')} AS {column.type.text})"


def _replaces(columns: Sequence[StagedColumn], target: Table) -> bool:
    set_ids = {column.id for column in columns if column.is_set}
    return any(column.identity == "always" and column.id in set_ids for column in target.columns)
