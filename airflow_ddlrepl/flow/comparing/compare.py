"""Compare looks at source and targets: every table of the channel, its columns and its rows."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from typing import Any

from airflow_ddlrepl.capture.enroll import belongs
from airflow_ddlrepl.compare.report import Comparison, TableReport
from airflow_ddlrepl.engines.chunks import group_chunks
from airflow_ddlrepl.engines.comparing import CompareTask, columns_compared, compare_tables
from airflow_ddlrepl.engines.source_catalog import RowSelection
from airflow_ddlrepl.engines.target_state import TargetState
from airflow_ddlrepl.flow.capture.left_out import left_out
from airflow_ddlrepl.flow.comparing.in_flight import Compared, settled
from airflow_ddlrepl.flow.comparing.may_differ import may_differ
from airflow_ddlrepl.flow.comparing.shapes_ahead import ShapesAhead
from airflow_ddlrepl.flow.mapping.row_filters import condition_at
from airflow_ddlrepl.flow.mapping.tables import read_for, seen_at
from airflow_ddlrepl.flow.mapping.value_functions import transform_at
from airflow_ddlrepl.flow.pipelines import require_targets
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.sequences.differences import sequence_differences
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.model.target_columns import history_columns
from airflow_ddlrepl.notation.name_pattern import is_selected
from airflow_ddlrepl.ports.rows import RowSource
from airflow_ddlrepl.scope.client import client_at
from airflow_ddlrepl.scope.decide import ChangeKind, decide

AT_ONCE = 100
"""This many small tables are read under one snapshot."""
MOST_TOLD = 20
"""So many differences of a table are stored in words."""


Rows = Callable[[RowSelection], RowSource]
"""This function makes the row source of a table at the source."""


def compare(run: RunContext, patterns: Sequence[str] = ()) -> Comparison:
    """Compare source and targets, at one position of the source's log: rows in flight are no differences.

    A table that can't be read is reported as one that differs; the others are compared.
    """
    return look(run, patterns)[0]


def look(run: RunContext, patterns: Sequence[str] = ()) -> tuple[Comparison, list[Compared]]:
    """Compare as `compare` does; return also the tables one by one, with all keys that differ."""
    require_targets(run.channel, "compare")
    started, began = time.monotonic(), datetime.now(UTC)
    states = {target.name: run.target(target.name).find_state() for target in run.channel.targets}
    tables = _tables(run, patterns)
    is_active, shapes = run.is_active(), ShapesAhead(run)
    with run.source.reading([table.id for table in tables]) as rows:
        compared = _compared(run, tables, rows, states, shapes)
        high = run.source.stable_end() if is_active else None
        reports = settled(run, compared, shapes, high) if high is not None else [one.report for one in compared]
    aside = {str(one.name): str(one) for one in left_out(run) if is_selected(one.name, patterns)}
    sequences = [] if patterns else list(_sequences(run))
    result = Comparison(
        tuple(reports),
        round(time.monotonic() - started, 2),
        aside,
        sequences=tuple(text for text, is_in_flight in sequences if not is_in_flight),
        moved_sequences=tuple(text for text, is_in_flight in sequences if is_in_flight),
        position="" if high is None else str(high),
        targets={name: str(found.lsn) for name, found in states.items() if found is not None},
    )
    if is_active:
        _record(run, result, [one.table.id for one in compared], began, is_whole=not patterns)
    return result, [replace(one, report=report) for one, report in zip(compared, reports, strict=True)]


def tasks_of(run: RunContext, target: str, compared: Sequence[Compared], rows: Rows) -> Iterator[Compared]:
    """Yield those of the compared tables that are live at the target, as they and the target's position are now."""
    now = run.target(target).state()
    for one in compared:
        state = now.table_states.get(one.table.id)
        if state is not None and state.state is TableStatus.LIVE:
            since = _since(now, one.table.id)
            yield replace(one, state=state, task=_task(run, target, one.table, state, rows), low=since)


def _is_plain(run: RunContext, target: str, table: Table, task: CompareTask) -> bool:
    """Has the target all rows of the table, each as it is at the source or with other values?"""
    if task.source.key is None or task.policy.replaces or condition_at(run.channel.at(target), table) is not None:
        return False
    return run.channel.at(target).settings(table.name).conflicts is None and history_columns(task.shape) is None


def _since(state: TargetState, table_id: int) -> Position:
    """Return the position up to which a table at a target has the log."""
    at = state.table_positions.get(table_id)
    return max(state.lsn, Position(at.lsn)) if at is not None else state.lsn


def _record(run: RunContext, result: Comparison, table_ids: Sequence[int], began: datetime, *, is_whole: bool) -> None:
    """Store what was found of each table at each target, and of the comparison as a whole."""
    count = {"tables": len(result.tables), "differences": result.differences, "left_out": len(result.left_out)}
    count |= {"discarded": result.discarded, "in_flight": result.tables_in_flight, "undecided": len(result.undecided)}
    told = [
        _stored_report(one, table_id, result.position) for one, table_id in zip(result.tables, table_ids, strict=True)
    ]
    found = {**count, "position": result.position, "by_table": told}
    run.repository.record_comparison(run.channel.name, run.run_id, began, found, is_whole=is_whole)


def _stored_report(one: TableReport, table_id: int, position: str) -> dict[str, Any]:
    """Return what is stored of a table: how much differs, by kind, and the first differences in words."""
    found: dict[str, Any] = {
        "target": one.at,
        "table": str(one.table),
        "table_id": table_id,
        "position": position,
        "differences": one.differences,
        "rows": one.source_rows,
    }
    kinds = ("missing", "extra", "different", "in_flight", "discarded", "is_partial", "undecided")
    found |= {name: getattr(one, name) for name in kinds if getattr(one, name)}
    if told := [*one.lines(), *one.not_arrived()][:MOST_TOLD]:
        found["found"] = told
    return found


def _compared(
    run: RunContext,
    tables: Sequence[Table],
    rows: Rows,
    states: Mapping[str, TargetState | None],
    shapes: ShapesAhead,
) -> list[Compared]:
    """Compare the tables at every target, but for columns whose type changes in log that is ahead of it."""
    tasks: list[CompareTask] = []
    found: list[Compared] = []
    pending: list[tuple[Compared, Sequence[str], Sequence[str]]] = []
    for target, state in states.items():
        table_states = state.table_states if state else {}
        low = state.lsn if state else Position(0)
        client, differs = client_at(run.channel.at(target)), may_differ(run, target)
        strange = _strange(run, target, table_states) if tables else {}
        beside = _beside(run, target, table_states, strange)
        for table in tables:
            table_state = table_states.get(table.id)
            if table_state is None and not decide(client, table.name, ChangeKind.TABLE).is_taken:
                continue
            missing = _missing(table_state, target) or strange.get(table.id, "")
            name = run.channel.at(target).target_name(table.name)
            report = TableReport(table.name, name, at=target)
            if missing or table_state is None:
                report = replace(report, structure=(missing,), waits=not _is_suspended(table_state))
                found.append(Compared(report, table, table_state, None, low))
                continue
            since = _since(state, table.id) if state else low
            retyped = shapes.retyped(table, since) - set(table.key.columns if table.key else ())
            task = replace(_task(run, target, table, table_state, rows), uncompared=retyped)
            tasks.append(task)
            own = tuple(beside.get(table_state.name, ()))
            is_plain = _is_plain(run, target, table, task)
            pending.append(
                (Compared(report, table, table_state, task, since, is_plain), differs.get(table.id, ()), own)
            )
    for one, (asked, why, more) in zip(_run(run, tasks), pending, strict=True):
        at_target = asked.report.at
        report = replace(one, at=at_target, may_differ=tuple(why), structure=(*one.structure, *more))
        report = replace(report, on_their_way=_uncompared(asked))
        found.append(replace(asked, report=report))
    return found


def _uncompared(one: Compared) -> tuple[str, ...]:
    """Return the columns whose values were not compared, in words: the target gets others when it gets their type."""
    if one.task is None:
        return ()
    names = (column.name for column in one.table.columns if column.id in one.task.uncompared)
    return tuple(f"a change of column {name}: its values were not compared" for name in names)


def _strange(run: RunContext, target: str, table_states: Mapping[int, TableState]) -> dict[int, str]:
    """Return by id why a target's tables are not read: what they use belongs to a role that is not trusted."""
    shapes = {i: one.shape.with_(name=one.name) for i, one in table_states.items()}
    found = run.target(target).facts().owned_by_strangers(list(shapes.values()))
    return {i: f"{found[one.name].message}: {found[one.name].hint}" for i, one in shapes.items() if one.name in found}


def _beside(
    run: RunContext, target: str, table_states: Mapping[int, TableState], strange: Mapping[int, str]
) -> dict[TableName, list[str]]:
    """Return by partitioned table of a target which partitions there are none of the channel's and have rows."""
    ours = {i: one for i, one in table_states.items() if one.state is not TableStatus.ORPHANED}
    tops = [one.name for i, one in ours.items() if one.shape.is_partitioned and i not in strange]
    names = [one.name for one in ours.values()]
    found: dict[TableName, list[str]] = {}
    for table, name in run.target(target).facts().filled_partitions(tops, names) if tops else ():
        text = f"{name} is a partition of the target's own: its rows show in the table, and the source has none of them"
        found.setdefault(table, []).append(text)
    return found


def _sequences(run: RunContext) -> Iterator[tuple[str, bool]]:
    """Yield what the sequences of each prepared target lack, and whether the next cycle brings it."""
    for target in run.channel.targets:
        if run.target(target.name).find_state() is not None:
            for one in sequence_differences(run, target.name):
                yet = ": only since the last cycle" if one.is_in_flight else ""
                yield f"target {target.name}: sequence {one}{yet}", one.is_in_flight


def _run(run: RunContext, tasks: Sequence[CompareTask]) -> list[TableReport]:
    """Return the tasks' reports, in their order.

    A large table is compared alone, small ones of one target together.
    """
    sizes = _sizes(run, tasks)
    by_target: dict[str, list[int]] = {}
    for place, task in enumerate(tasks):
        by_target.setdefault(task.target_dsn, []).append(place)
    bundles = []
    for places in by_target.values():
        groups = group_chunks([sizes[tasks[place].source.id] for place in places], run.runner.parallelism)
        for group in groups:
            bundles += [[places[i] for i in group[at : at + AT_ONCE]] for at in range(0, len(group), AT_ONCE)]
    found = run.runner.map(
        compare_tables,
        [[tasks[place] for place in bundle] for bundle in bundles],
        "compare",
        size=sum(sizes[task.source.id] for task in tasks),
    )
    reports = dict(zip(chain(*bundles), chain(*found), strict=True))
    return [reports[place] for place in range(len(tasks))]


def _task(run: RunContext, target: str, table: Table, state: TableState, rows: Rows) -> CompareTask:
    at = run.channel.at(target)
    read = read_for(at, table)
    names = columns_compared(read, state.shape)
    selection = RowSelection(read, names, condition_at(at, table), transform_at(at, table))
    contents, location = rows(selection), run.target(target).location
    policy = at.settings(table.name).misfits
    wanted = seen_at(at, table)
    return CompareTask(contents, location, read, state.name, state.shape, wanted=wanted, policy=policy)


def _sizes(run: RunContext, tasks: Sequence[CompareTask]) -> Mapping[int, int]:
    """Return the bytes of the tables at the source, by id; a locked one is missing, which its comparison reports."""
    return Counter(run.source.catalog.sizes([task.source.id for task in tasks]))


def _tables(run: RunContext, patterns: Sequence[str]) -> list[Table]:
    """Return the source's tables that the channel has, or would have after the next cycle, but for those left out."""
    known = run.repository.latest_revisions(run.channel.name)
    catalog, membership = run.source.catalog, run.source.membership
    aside = {one.table_id for one in membership.left_out() if not one.is_reloaded} | membership.bystanders()
    others = catalog.list_tables()
    joining = {i for i, name in others.items() if decide(run.capture_client, name, ChangeKind.NEW_TABLE).is_taken}
    named = joining | membership.members()
    found = catalog.inspect(list(catalog.with_partitions(named | set(known))))
    return [
        table
        for table in sorted(found, key=lambda table: table.name)
        if table.id not in aside
        and not table.unlogged
        and belongs(table, known, run.joins)
        and is_selected(table.name, patterns)
    ]


def _is_suspended(table_state: TableState | None) -> bool:
    """Is the table suspended? A repair loads it, as it loads what differs."""
    return table_state is not None and table_state.state is TableStatus.SUSPENDED


def _missing(table_state: TableState | None, target: str) -> str:
    if table_state is None or table_state.state is TableStatus.ORPHANED:
        return f"the table is not at target {target} yet: run `ddlrepl replicate`"
    if table_state.state is TableStatus.SUSPENDED:
        return f"the table is suspended at target {target}: {table_state.suspension}"
    if table_state.state is not TableStatus.LIVE:
        return f"the table waits for a refresh at target {target}: run `ddlrepl replicate`"
    return ""
