"""This module stores rows that are ready in staging tables of the target, by COPY, until they are merged.

Independent per table (and per bucket of a big one), so it runs in parallel; nothing a reader of the target sees
changes. A task may run twice: what an earlier run left is dropped. A few rows are not copied: they are values of the
merge's statements (inline). New rows that the table takes as they are travel to it in COPY's own format (copied).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.engines.postgres.merge.copied_rows import copy_binary
from airflow_ddlrepl.engines.postgres.merge.copy_arrow import all_names, drop_stages, load, loading, stage_table
from airflow_ddlrepl.engines.postgres.merge.evaluator import PostgresEvaluator
from airflow_ddlrepl.engines.postgres.merge.inline_rows import MOST_TOGETHER, InlineRows, as_inline_rows
from airflow_ddlrepl.engines.postgres.merge.staging_tables import (
    Stage,
    Staged,
    filled,
    replaces,
    short_names,
    staged_column,
)
from airflow_ddlrepl.engines.postgres.sessions.session_names import session_name
from airflow_ddlrepl.engines.staging import Stager
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.integrate.netting.net_changes import NetRows
from airflow_ddlrepl.integrate.ready_rows import ReadyRows
from airflow_ddlrepl.integrate.row_plan import RowPlan
from airflow_ddlrepl.integrate.stage_task import StageTask

INTEGERS = frozenset({"smallint", "integer", "bigint"})
EPOCH = 946_684_800_000_000
"""The server counts microseconds from 2000 on, Arrow those from 1970 on."""


class PostgresStager(Stager):
    """This stager has one transaction at the target for all tasks, opened when the first of them needs a server.

    It also counts how many bytes the tasks may still send inline.
    """

    def __init__(self, task: StageTask) -> None:
        self._at_work = task.target_name
        self._place = (task.dsn, lambda: self._at_work, session_name("integrate", task.channel, task.token))
        self._left = MOST_TOGETHER
        self._layouts: dict[int, _Layout] = {}
        self._opened: Any = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> bool | None:
        return self._stack.__exit__(kind, error, at)

    def evaluator(self, task: StageTask) -> PostgresEvaluator:
        self._at_work = task.target_name
        return PostgresEvaluator(self._cursor, task.stage_name)

    def store(self, ready: ReadyRows) -> Staged:
        """Store rows, at the target or inline. Raises RowsRefused INT-120, UnreadableRows INT-105."""
        self._at_work = ready.task.target_name
        layout = self._layout(ready.plan, ready.task)
        rows = layout.by_stage(ready)
        inline = self._inline(layout, rows) if ready.task.conflicts is None else None
        copied = self._copied(layout, rows, ready.task) if inline is None else ()
        if inline is None:
            left = {kind: table for kind, table in rows.items() if not copied or kind is not Stage.INSERTS}
            self._load(layout, left, ready.task)
        return replace(layout.stage_rows(ready, rows, inline or {}), copied=copied)

    def _cursor(self) -> Any:
        if self._opened is None:
            self._opened = self._stack.enter_context(loading(*self._place))
        return self._opened

    def _layout(self, plan: RowPlan, task: StageTask) -> _Layout:
        found = self._layouts.get(id(plan))
        if found is None:
            found = self._layouts[id(plan)] = _Layout(plan, task)
        return found

    def _inline(self, layout: _Layout, rows: Mapping[Stage, pa.Table]) -> dict[Stage, InlineRows] | None:
        """Return all of the task's rows as inline rows, or None: either all fit or none is sent so."""
        found: dict[Stage, InlineRows] = {}
        for kind, table in rows.items():
            one = as_inline_rows(layout.types(table), table)
            if one is None or one.size > self._left:
                return None
            found[kind] = one
            self._left -= one.size
        return found

    def _copied(self, layout: _Layout, rows: Mapping[Stage, pa.Table], task: StageTask) -> tuple[bytes, ...]:
        """Return new rows in COPY's format; none where they are large, or do not go into the table as they are."""
        table = rows.get(Stage.INSERTS)
        if table is None or table.nbytes > task.carried or not layout.is_copied(task):
            return ()
        return copy_binary(table)

    def _load(self, layout: _Layout, rows: Mapping[Stage, pa.Table], task: StageTask) -> None:
        if rows:
            drop_stages(self._cursor(), all_names(task.stage_name))
        for kind, table in rows.items():
            load(
                self._cursor(),
                stage_table(task.stage_name, kind),
                layout.types(table),
                table,
                layout.joined_by(kind, task),
            )
            reach("integrate.loaded")


class _Layout:
    """A layout says how the rows of tasks with one plan are staged: names and SQL types of the columns."""

    def __init__(self, plan: RowPlan, task: StageTask) -> None:
        self.plan = plan
        self.columns = tuple(staged_column(one, task.table.types) for one in plan.columns)
        self._inline_columns = tuple(replace(c, in_array=False) if c.in_array else c for c in self.columns)
        self._short = short_names(self.columns)
        self._types = {str(column.id): column.staging_type for column in self.columns}
        self._fills = tuple(map(filled, plan.fills))
        self._replaces = replaces(self.columns, task.target)

    def by_stage(self, ready: ReadyRows) -> dict[Stage, pa.Table]:
        """Return the rows by the stage of the merge that they are for, under the names that they are staged by."""
        is_contested = ready.task.conflicts is not None and bool(self.plan.key) and not self.plan.is_history
        return {
            stage: self._renamed(_with_room(table) if is_contested else table)
            for stage, table in _by_stage(ready.rows)
            if table.num_rows
        }

    def _renamed(self, table: pa.Table) -> pa.Table:
        for name in [f"a_{column.name}" for column in self.plan.of_change if f"a_{column.name}" in table.column_names]:
            if pa.types.is_timestamp((values := table[name]).type):
                ours = pc.subtract(values.cast(pa.int64()), EPOCH)
                table = table.set_column(table.column_names.index(name), name, ours)
        return table.rename_columns([self._short[name] for name in table.column_names])

    def is_copied(self, task: StageTask) -> bool:
        """Return whether new rows may go into the target's table as they are read from the trail."""
        is_plain = not (self._fills or self.plan.deletion or task.is_resilient or task.conflicts)
        return is_plain and bool(self.columns) and all(column.is_as_staged for column in self.columns)

    def joined_by(self, kind: Stage, task: StageTask) -> tuple[str, ...] | None:
        """Return the columns by which staged rows find those of the target; none: they don't. None: by all."""
        if kind in (Stage.REMOVED, Stage.ADDED):
            return None
        if kind is Stage.INSERTS and not (task.is_resilient or task.conflicts or self.plan.deletion):
            return ()
        return tuple(f"{kind.key_prefix}{column.id}" for column in self.columns if column.is_key)

    def types(self, table: pa.Table) -> list[tuple[str, str]]:
        """Return name and SQL type of each column of staged rows."""
        fixed = {"n": "int8", "h": "bool", "w": "bool", "p": "int8", "q": "text", "v": "bool"}
        return [(name, fixed.get(name[0]) or self._types[name[1:]]) for name in table.column_names]

    def _ranges(self, rows: Mapping[Stage, pa.Table]) -> dict[Stage, tuple[int, int]]:
        """Return between which keys the target's rows are, by stage; nothing where the key is not one integer."""
        keys = [column for column in self.columns if column.is_key]
        if len(keys) != 1 or not keys[0].is_as_staged or keys[0].operators:
            return {}
        if keys[0].staging_type not in INTEGERS or keys[0].target_type not in INTEGERS:
            return {}
        found: dict[Stage, tuple[int, int]] = {}
        for kind, table in rows.items():
            low, high = pc.min_max(table[f"{kind.key_prefix}{keys[0].id}"]).values()
            found[kind] = low.as_py(), high.as_py()
        return found

    def stage_rows(
        self, ready: ReadyRows, rows: Mapping[Stage, pa.Table], inline: Mapping[Stage, InlineRows]
    ) -> Staged:
        """Return what the merge needs to know of staged rows."""
        task = ready.task
        return Staged(
            table_id=task.table.id,
            target=task.target_name,
            columns=self._inline_columns if inline else self.columns,
            inline=inline,
            tables={kind: stage_table(task.stage_name, kind) for kind in rows},
            rows={kind: _row_count(table) for kind, table in rows.items()},
            ranges={} if inline else self._ranges(rows),
            held={
                kind: tuple(int(name[1:]) for name in table.column_names if name[0] == "h")
                for kind, table in rows.items()
                if kind in (Stage.UPDATES, Stage.MOVES)
            },
            fills=self._fills,
            replaces=self._replaces,
            deletion=self.plan.deletion,
            is_resilient=task.is_resilient or task.conflicts is not None,
            conflicts=task.conflicts,
            changes=ready.read,
            left_out=ready.left_out,
        )


def _by_stage(rows: NetRows) -> tuple[tuple[Stage, pa.Table], ...]:
    return (
        (Stage.DELETES, rows.deletes),
        (Stage.UPDATES, rows.updates),
        (Stage.MOVES, rows.moves),
        (Stage.INSERTS, rows.inserts),
        (Stage.REMOVED, rows.removed),
        (Stage.ADDED, rows.added),
    )


def _with_room(rows: pa.Table) -> pa.Table:
    """Return net rows with room for what `conflicts.resolve` finds."""
    count = rows.num_rows
    return rows.append_column("q", pa.nulls(count, pa.string())).append_column("v", pa.nulls(count, pa.bool_()))


def _row_count(table: pa.Table) -> int:
    return int(pc.sum(table["n"]).as_py()) if "n" in table.column_names else int(table.num_rows)
