"""Compare source and targets: every table of the channel, its columns and its rows."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

from airflow_ddlrepl.adapt.timeline import Standing, State
from airflow_ddlrepl.compare.report import Comparison, TableReport
from airflow_ddlrepl.config.pattern import matches_table
from airflow_ddlrepl.engines.postgres import state
from airflow_ddlrepl.engines.postgres.connect import connect
from airflow_ddlrepl.engines.postgres.digest import CompareTask, compare_table
from airflow_ddlrepl.engines.postgres.inspect import inspect
from airflow_ddlrepl.engines.postgres.present import Present
from airflow_ddlrepl.flow.cycle import Cycle
from airflow_ddlrepl.model.table import Column, Table


def compare(cycle: Cycle, patterns: Sequence[str] = ()) -> Comparison:
    """As they are now: what is written meanwhile, or not replicated yet, counts as a difference."""
    started = time.monotonic()
    tasks: list[CompareTask] = []
    reports: list[TableReport] = []
    for target in cycle.channel.targets:
        with connect(cycle.target_dsn(target.name)) as connection:
            standings = state.read_state(connection, cycle.channel.name).standings
        for table in _tables(cycle, patterns):
            standing = standings.get(table.id)
            missing = _missing(standing, target.name)
            if missing or standing is None:
                reports.append(TableReport(table.name, target.name, structure=(missing,)))
                continue
            with connect(cycle.target_dsn(target.name)) as connection:
                there = Present(connection).table(standing.name)
            tasks.append(_task(cycle, target.name, table, standing, there))
    reports += cycle.runner.map(compare_table, tasks, "compare")
    return Comparison(tuple(reports), seconds=round(time.monotonic() - started, 2))


def _tables(cycle: Cycle, patterns: Sequence[str]) -> list[Table]:
    """The source's tables that the channel has, or would have after the next cycle; those left out of it aside."""
    known = cycle.repository.latest_revisions(cycle.channel.name)
    left_out = set(cycle.source.unpublished_reasons())
    return [
        table
        for table in inspect(cycle.source.connection)
        if table.id not in left_out
        and not table.unlogged
        and ((table.id in known and known[table.id].table is not None) or cycle.scope.joins(table.name))
        and (not patterns or any(matches_table(p, table.name) for p in patterns))
    ]


def _task(cycle: Cycle, target: str, table: Table, standing: Standing, there: Table | None) -> CompareTask:
    """What to compare of one table: the columns that both sides have, paired by identity."""
    names = {c.id: c.name for c in standing.shape.columns}
    held = {c.name: c for c in there.columns} if there else {}
    pairs = [(c.name, names[c.id]) for c in table.columns if names.get(c.id) in held]
    return CompareTask(
        source_dsn=cycle.source_dsn,
        target_dsn=cycle.target_dsn(target),
        target=target,
        table=table.name,
        target_table=standing.name,
        columns=() if table.is_partitioned else tuple(pairs),
        key=tuple((c.name, names[c.id]) for c in table.key_columns() if names.get(c.id) in held),
        structure=tuple(_structure(table, held, names)) if there else ("the table is missing at the target",),
    )


def _structure(table: Table, held: Mapping[str, Column], names: Mapping[int, str]) -> Iterator[str]:
    for column in table.columns:
        name = names.get(column.id)
        if name is None or name not in held:
            yield f"column {column.name} is missing at the target"
        elif name != column.name:
            yield f"column {column.name} is called {name} at the target"
        elif column.type.is_builtin and held[name].type.text != column.type.text:
            yield f"column {column.name} is {held[name].type.text} at the target, {column.type.text} at the source"


def _missing(standing: Standing | None, target: str) -> str:
    if standing is None or standing.state is State.KEPT:
        return f"the table is not at target {target} yet: run `ddlrepl replicate`"
    if standing.state is not State.LIVE:
        return f"the table waits for a refresh at target {target}: run `ddlrepl replicate`"
    return ""
