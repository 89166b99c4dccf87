"""This module stages changes: it reads one table's rows from the trail, nets them, and copies them to the target.

The result is in staging tables of the target.
Independent per table (and per bucket of a big one), so it runs in parallel; nothing a reader of the
target sees changes. A stage may run twice: it drops what an earlier run left. A few rows are not copied: they are
values of the merge's statements (inline).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from copy import copy
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.engines.postgres.merge.change_columns import (
    change_columns,
    deletes_as_updates,
    is_of_source,
    one_row_each,
    require_old_rows,
    with_change_values,
)
from airflow_ddlrepl.engines.postgres.merge.conflicts import netting, undecided
from airflow_ddlrepl.engines.postgres.merge.copy_arrow import all_names, drop_stages, load, loading, stage_table
from airflow_ddlrepl.engines.postgres.merge.discard_rows import without_unfit
from airflow_ddlrepl.engines.postgres.merge.inline_rows import MOST_TOGETHER, InlineRows, as_inline_rows
from airflow_ddlrepl.engines.postgres.merge.key_numbers import numbered
from airflow_ddlrepl.engines.postgres.merge.row_filter import restricted
from airflow_ddlrepl.engines.postgres.merge.staging_tables import (
    Stage,
    Staged,
    fills,
    read_as_written,
    replaces,
    short_names,
    staged_columns,
    unfit_columns,
    with_cut_texts,
    with_own_types,
)
from airflow_ddlrepl.engines.postgres.merge.unfit_values import with_nulls
from airflow_ddlrepl.engines.postgres.merge.value_function import transformed
from airflow_ddlrepl.engines.postgres.sessions.session_names import session_name
from airflow_ddlrepl.engines.postgres.types.equality import equality
from airflow_ddlrepl.engines.postgres.types.type_system import POSTGRES_TYPES
from airflow_ddlrepl.errors import RowsRefused, UnreadableRows, identified
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.integrate.netting.equality import KeyColumn
from airflow_ddlrepl.integrate.netting.images import SameKey, net_images
from airflow_ddlrepl.integrate.netting.net_changes import NetRows, net
from airflow_ddlrepl.integrate.read_changes import StageReader
from airflow_ddlrepl.integrate.stage_task import StageTask, layout_of
from airflow_ddlrepl.integrate.steps.ignored_kinds import without_ignored
from airflow_ddlrepl.mapping.values import for_columns
from airflow_ddlrepl.model.settings.row_kind import RowKind
from airflow_ddlrepl.model.settings.table_settings import CoerceErrorPolicy
from airflow_ddlrepl.model.target_columns import deletion_column, history_columns
from airflow_ddlrepl.notation.condition.parser import condition
from airflow_ddlrepl.ports.types import Equality
from airflow_ddlrepl.trail.store import Trail


def stage(task: StageTask) -> Staged:
    """Stage one task; return what `merge` needs.

    Raises RowsRefused INT-103 (key not in the target), INT-111 (an old row is missing), INT-112 to INT-114 (what
    `restricted` and `transformed` raise), INT-120 (the target refuses the rows), UnreadableRows INT-105, TrailError
    for damaged files.
    """
    return stage_all((task,))[0]


def stage_all(tasks: Sequence[StageTask]) -> list[Staged]:
    """Stage several tasks of one target over one connection, in one transaction; errors as `stage`."""
    with _Stager(tasks[0]) as stager:
        return [stager.stage_one(task) for task in tasks]


class _Stager:
    """A stager has the connection that tasks share, opened when rows are copied.

    It also counts how many bytes they may still send inline.
    """

    def __init__(self, task: StageTask) -> None:
        self._table = task.target_name
        self._place = (task.dsn, lambda: self._table, session_name("integrate", task.channel, task.token))
        self._trail = Trail(task.trail_url, task.channel)
        self._left = MOST_TOGETHER
        self._plans: dict[tuple[Any, ...], _Plan] = {}
        self._cursor: Any = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> bool | None:
        return self._stack.__exit__(kind, error, at)

    def cursor(self) -> Any:
        if self._cursor is None:
            self._cursor = self._stack.enter_context(loading(*self._place))
        return self._cursor

    def stage_one(self, task: StageTask) -> Staged:
        self._table = task.target_name
        with identified({str(task.target_name): task.table.id}):
            return self._stage(task)

    def _stage(self, task: StageTask) -> Staged:
        plan = self._plan(task)
        changes = plan.reader().read(self._trail)
        read = changes.num_rows
        changes, left_out = without_ignored(changes, task.ignored)
        if changes.num_rows and task.condition:
            changes = plan.restricted(changes, self.cursor())
            changes, _ = without_ignored(changes, task.ignored & {RowKind.DELETE})
        outside = read - changes.num_rows - sum(left_out.values())
        if changes.num_rows and plan.transform:
            changes = plan.transformed(changes, self.cursor)
        told: dict[str, Any] = {"outside": outside, "ignored": left_out}
        if changes.num_rows and plan.unfit:
            changes, more = plan.fitting(changes, self.cursor)
            told |= more
        if not changes.num_rows:
            return replace(plan.staged({}, read), **told)
        plan.require_key()
        plan.require_values()
        if task.own.key:
            require_old_rows(changes, task.table, "with a key of its own (`key`)", plan.names)
        if task.conflicts is not None:
            require_old_rows(changes, task.table, "whose conflicts are looked for (`conflicts`)", plan.names)
        if task.is_resilient:
            require_old_rows(changes, task.table, "some rows of which may be missing at the target", plan.names)
        if plan.is_history:
            changes = plan.one_row_each(changes)
        changes = with_change_values(changes, task.target, lambda: self._trail.transactions_in(task.transactions))
        if plan.deletion:
            changes = deletes_as_updates(changes, plan.names, [key.name for key in plan.key])
        rows = plan.rows(changes, self.cursor)
        inline = self._inline(plan, rows) if task.conflicts is None else None
        if inline is None:
            self._load(plan, rows)
        return replace(plan.staged(rows, read, inline or {}), **told)

    def _plan(self, task: StageTask) -> _Plan:
        """Return the plan of a task; tables that have all in common that it depends on share it, but for the names."""
        like = _likeness(task)
        if like not in self._plans:
            self._plans[like] = _Plan(task)
        plan = copy(self._plans[like])
        plan.task = task
        return plan

    def _inline(self, plan: _Plan, rows: Mapping[Stage, pa.Table]) -> dict[Stage, InlineRows] | None:
        """Return all of the task's rows as inline rows, or None: either all fit or none is sent so."""
        found: dict[Stage, InlineRows] = {}
        for kind, table in rows.items():
            one = as_inline_rows(plan.staging_columns(table), table)
            if one is None or one.size > self._left:
                return None
            found[kind] = one
            self._left -= one.size
        return found

    def _load(self, plan: _Plan, rows: Mapping[Stage, pa.Table]) -> None:
        name = plan.task.stage_name
        drop_stages(self.cursor(), all_names(name))
        for kind, table in rows.items():
            load(self.cursor(), stage_table(name, kind), plan.staging_columns(table), table)
            reach("integrate.loaded")


def _likeness(task: StageTask) -> tuple[Any, ...]:
    """Return a value that is equal for tasks with the same plan; while they live, their objects tell them apart."""
    table, target = task.table, task.target
    objects = (table.columns, table.types, target.columns, target.types, task.transform, task.conflicts)
    files = tuple((file.identity, id(file.columns)) for file in task.files)
    return *map(id, objects), files, table.key.columns if table.key else None, task.own


class _Plan:
    """A plan says which columns of a task's rows are wanted, and under which names."""

    def __init__(self, task: StageTask) -> None:
        self.task = task
        layouts = {layout_of(file) for file in task.files}
        if len(layouts) > 1:
            raise ValueError("files of different layouts in one task: cut them by sections()")
        self.layout = task.files[0].columns if task.files else ()
        self.encodings = {column.name: column.encoding for column in self.layout}
        self.key = tuple(
            KeyColumn(c.name, equality(c, self.encodings.get(c.name, ""), task.table.types))
            for c in task.table.key_columns()
        )
        self.names = tuple(column.name for column in self.layout)
        self.columns = staged_columns(task.table, task.target, self.encodings, self._loose_keys())
        self.transform = for_columns(task.transform, [column.source_name for column in self.columns])
        if self.transform is not None:
            computed = dict.fromkeys(self.transform.gives, "text")
            self.columns = staged_columns(task.table, task.target, {**self.encodings, **computed}, self._loose_keys())
        if task.own.types:
            self.columns = with_own_types(self.columns, task.target, task.own.types)
        policy = task.own.misfits
        if policy is CoerceErrorPolicy.TRUNCATE:
            self.columns = with_cut_texts(self.columns, task.table, task.target)
        self.unfit = unfit_columns(self.columns, task.table, task.target, policy)
        texts = {column.id for column, _ in self.unfit if not column.is_key}
        self.columns = read_as_written(self.columns, task.target, texts)
        self.discards = policy is CoerceErrorPolicy.DISCARD
        self.columns += change_columns(task.target)
        self.deletion = deletion_column(task.target)
        self.is_history = history_columns(task.target) is not None
        self._reads_old_rows = self.is_history or bool(task.own.key) or self.discards
        self._reads_old_rows |= task.conflicts is not None
        self._short = short_names(self.columns)
        self._staging_types = {str(column.id): column.staging_type for column in self.columns}
        self._inline_columns = tuple(replace(c, in_array=False) if c.in_array else c for c in self.columns)
        self._fills = tuple(fills(self.columns, task.target))
        self._replaces = replaces(self.columns, task.target)

    def require_key(self) -> None:
        """Raise RowsRefused INT-103 when key columns are missing in the rows or the target.

        Only rows need them: those that a refresh already contains may have a key that the target has no more.
        """
        missing = {c.name for c in self.key} - {c.source_name for c in self.columns}
        if missing:
            raise RowsRefused(
                f"key columns are missing in the rows or the target: {', '.join(sorted(missing))}",
                code="INT-103",
                table=self.task.target_name,
                hint="refresh the table, or keep its key columns in the target",
            )

    def require_values(self) -> None:
        """Raise UnreadableRows INT-107 when the target holds a generated column as a plain one.

        The log does not have its values everywhere.
        """
        staged = {column.id for column in self.columns}
        plain = {column.id for column in self.task.target.columns if not column.generated} - staged
        if hidden := [c.name for c in self.task.table.columns if c.generated and c.id in plain]:
            raise UnreadableRows(
                f"the log has no values of {', '.join(hidden)}, which only the source can compute",
                code="INT-107",
                table=self.task.target_name,
                hint="refresh the table; from version 18 on `ddlrepl activate` lets the log contain stored ones",
            )

    def _loose_keys(self) -> tuple[int, ...]:
        columns = self.task.table.key_columns()
        return tuple(c.id for c, key in zip(columns, self.key) if key.equality is not Equality.BYTES)

    def reader(self) -> StageReader:
        both = condition(self.task.condition).names() if self.task.condition else ()
        if self._reads_old_rows:
            both = (*both, *(c.source_name for c in self.columns if is_of_source(c)))
        there = [name for name in both if name in self.names]
        reads = [name for name in (self.transform.reads if self.transform else ()) if name in self.names]
        columns = dict.fromkeys((*(column.source_name for column in self.columns if is_of_source(column)), *reads))
        return StageReader(self.task, POSTGRES_TYPES, self.key, list(columns), self.names, there)

    def restricted(self, changes: pa.Table, cursor: Any) -> pa.Table:
        """Return the changes for a target that takes only the rows which the condition is true for."""
        name, of = stage_table(self.task.stage_name, "q"), self.task.whole or self.task.table
        return restricted(cursor, name, changes, condition(self.task.condition), of, self.encodings)

    def transformed(self, changes: pa.Table, cursor: Callable[[], Any]) -> pa.Table:
        """Return the changes with the values that a function computes."""
        assert self.transform is not None
        name, of = stage_table(self.task.stage_name, "q"), self.task.whole or self.task.table
        of = of.without_keys() if self._reads_old_rows else of
        return transformed(cursor, name, changes, self.transform, of, self.encodings)

    def fitting(self, changes: pa.Table, cursor: Callable[[], Any]) -> tuple[pa.Table, dict[str, Any]]:
        """Return the changes with values that the target's columns hold, and what `Staged` tells of the others."""
        name, task = stage_table(self.task.stage_name, "q"), self.task
        if not self.discards:
            nulled = with_nulls(cursor, name, changes, self.unfit, task.target_name)
            return nulled.changes, {"nulled": nulled.counts}
        require_old_rows(changes, task.table, "whose rows are discarded (`coerce_error_policy`)", self.names)
        columns = [column for column in self.columns if is_of_source(column)]
        found = without_unfit(cursor, name, changes, task.table.id, columns, self.unfit, task.discarded)
        return found.changes, {"settled": found.settled, "discarded": found.rows}

    def one_row_each(self, changes: pa.Table) -> pa.Table:
        """Return a row per change, with the values that a deleted row had."""
        require_old_rows(changes, self.task.table, "with a row per change (`time_key`)", self.names)
        names = [column.source_name for column in self.columns if is_of_source(column)]
        return one_row_each(changes, names, [key.name for key in self.key])

    def rows(self, changes: pa.Table, cursor: Callable[[], Any]) -> dict[Stage, pa.Table]:
        """Return what the merge does with rows of the target, by kind."""
        if self.is_history:
            new = changes.select([f"a_{column.source_name}" for column in self.columns])
            return {Stage.INSERTS: self._renamed(new)}
        return self.images(changes) if self.task.table.key is None else self.net(changes, cursor)

    def net(self, changes: pa.Table, cursor: Callable[[], Any]) -> dict[Stage, pa.Table]:
        """Return the net change by key.

        cursor: opens one on the target.
        """
        ids = None
        if any(key.equality is Equality.TARGET for key in self.key):
            name = stage_table(self.task.stage_name, "k")
            drop_stages(cursor(), [name])
            ids = numbered(cursor(), name, changes, self.names, self.key, self.columns, self.task.table.types)
        names = [c.source_name for c in self.columns]
        try:
            rows: NetRows = net(changes, self.names, self.key, names, ids, netting(self.task, self.columns))
        except SameKey:
            raise RowsRefused(
                f"two rows of the source have one key by `target_tables`: {', '.join(key.name for key in self.key)}",
                code="INT-115",
                table=self.task.target_name,
                hint="name columns in `key` that tell the rows apart, or delete one of the two at the source; then"
                " `ddlrepl refresh --table` with this table",
            ) from None
        tables = {
            Stage.DELETES: rows.deletes,
            Stage.UPDATES: rows.updates,
            Stage.MOVES: rows.moves,
            Stage.INSERTS: rows.inserts,
        }
        if (conflicts := self.task.conflicts) is not None:
            tables = undecided(tables, conflicts, [c.source_name for c in self.columns if is_of_source(c) and c.is_set])
        return {kind: self._renamed(table) for kind, table in tables.items() if table.num_rows}

    def images(self, changes: pa.Table) -> dict[Stage, pa.Table]:
        """Return the net change of a table without a key."""
        if self.task.bucket:
            return {}
        try:
            rows = net_images(changes, [column.source_name for column in self.columns])
        except (ValueError, KeyError):
            raise RowsRefused(
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
        return table.rename_columns([self._short[name] for name in table.column_names])

    def staging_columns(self, table: pa.Table) -> list[tuple[str, str]]:
        fixed = {"n": "int8", "h": "bool", "w": "bool", "p": "int8", "q": "text", "v": "bool"}
        return [(name, fixed.get(name[0]) or self._staging_types[name[1:]]) for name in table.column_names]

    def staged(self, rows: Mapping[Stage, pa.Table], changes: int, inline: Mapping[Stage, InlineRows] = {}) -> Staged:
        return Staged(
            table_id=self.task.table.id,
            target=self.task.target_name,
            columns=self._inline_columns if inline else self.columns,
            inline=inline,
            tables={kind: stage_table(self.task.stage_name, kind) for kind in rows},
            rows={kind: _row_count(table) for kind, table in rows.items()},
            held={
                kind: tuple(int(name[1:]) for name in table.column_names if name[0] == "h")
                for kind, table in rows.items()
                if kind in (Stage.UPDATES, Stage.MOVES)
            },
            fills=self._fills,
            replaces=self._replaces,
            deletion=self.deletion,
            is_resilient=self.task.is_resilient or self.task.conflicts is not None,
            conflicts=self.task.conflicts,
            changes=changes,
        )


def _row_count(table: pa.Table) -> int:
    return int(pc.sum(table["n"]).as_py()) if "n" in table.column_names else int(table.num_rows)
