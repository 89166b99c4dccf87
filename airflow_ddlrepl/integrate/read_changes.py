"""This module reads the row changes of a stage task from the trail: its columns, its transactions, its bucket."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.integrate.netting.buckets import bucket_of
from airflow_ddlrepl.integrate.netting.net_changes import has_key_updates
from airflow_ddlrepl.integrate.row_plan import RowPlan
from airflow_ddlrepl.integrate.stage_task import StageTask
from airflow_ddlrepl.model.table import Identity
from airflow_ddlrepl.trail.manifest import RowFile
from airflow_ddlrepl.trail.store import Trail


class StageReader:
    """A stage reader reads the row changes of one stage task from the trail."""

    def __init__(self, task: StageTask, plan: RowPlan) -> None:
        self.task = task
        self.plan = plan

    def read(self, trail: Trail) -> pa.Table:
        """Return the row changes of the task's bucket, in log order."""
        if self.task.buckets > 1 and not self._can_split(trail):
            return pa.table({"op": pa.array([], pa.int8())}) if self.task.bucket else self._all(trail)
        return self._all(trail, split=self.task.buckets > 1)

    def _can_split(self, trail: Trail) -> bool:
        """Return whether no key changes; each bucket's task finds the same, as all see the same rows."""
        names = [key.name for key in self.plan.key]
        wanted = ["lsn", "op", "before", "absent", *(f"{side}_{name}" for name in names for side in "ab")]
        return not any(
            has_key_updates(batch, self.plan.names, self.plan.key)
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
                    mine = bucket_of(batch, self.plan.key, self.task.buckets) == self.task.bucket
                    batch = batch.filter(pa.array(mine))
                tables.append(batch)
        if not tables:
            return pa.table({"op": pa.array([], pa.int8())})
        return _in_order(pa.concat_tables(tables) if len(tables) > 1 else tables[0])

    def _batches(self, trail: Trail, file: RowFile, columns: list[str]) -> Iterator[pa.Table]:
        skipped = pa.array(sorted(self.task.skip_lsns), pa.int64()) if self.task.skip_lsns else None
        for batch in trail.batches(file, self.task.low, self.task.high, columns):
            rows = batch if skipped is None else batch.filter(pc.invert(pc.is_in(batch["lsn"], skipped)))
            if rows.num_rows:
                yield rows

    def _wanted(self, file: RowFile) -> list[str]:
        logged = {c.name for c in file.columns if c.is_key or file.identity is Identity.FULL}
        new, old = self.plan.reads, [name for name in self.plan.reads_old if name in logged]
        return ["lsn", "seq", "op", "before", "absent", *(f"a_{n}" for n in new), *(f"b_{n}" for n in old)]

    def _with_old_keys(self, batch: pa.Table) -> pa.Table:
        """Add empty old keys to rows of a table whose log has none (inserts only); without a key, old rows."""
        for name in self.plan.reads_old:
            if f"b_{name}" not in batch.column_names and f"a_{name}" in batch.column_names:
                batch = batch.append_column(f"b_{name}", pa.nulls(batch.num_rows, batch[f"a_{name}"].type))
        return batch


def _in_order(changes: pa.Table) -> pa.Table:
    if changes.num_rows < 2:
        return changes
    lsn, seq = changes["lsn"].to_numpy(), changes["seq"].to_numpy()
    later = (lsn[1:] > lsn[:-1]) | ((lsn[1:] == lsn[:-1]) & (seq[1:] > seq[:-1]))
    return changes if bool(later.all()) else changes.take(pa.array(np.lexsort((seq, lsn))))
