"""Repair writes what really differs at the targets, row by row, and leaves to the log what the log brings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from airflow_ddlrepl.compare.report import Comparison
from airflow_ddlrepl.engines.abilities.of_target import RepairsRows
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.engines.comparing import RepairTask
from airflow_ddlrepl.errors import DdlReplError, SourceError, TargetError, TrailError, Unsupported
from airflow_ddlrepl.flow.comparing.compare import look, tasks_of
from airflow_ddlrepl.flow.comparing.in_flight import Compared, rows_ahead
from airflow_ddlrepl.flow.comparing.shapes_ahead import ShapesAhead
from airflow_ddlrepl.flow.refresh.refresh import refresh
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.fencing import claim, require_not_cut_over
from airflow_ddlrepl.flow.sequences.replicate import bring_sequences, source_sequences
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.target_columns import deletion_column, history_columns
from airflow_ddlrepl.notation.name_pattern import exact_pattern
from airflow_ddlrepl.notation.refresh_options import BY_ROW

MOST_ROWS = 100_000
"""A table with more rows that differ is refreshed row by row as a whole."""
WAIT_SECONDS = 600.0
"""A repair waits so long for a run of the channel to end."""
CHANGING = "a change of its shape is on its way: repair it after the next cycle"
CONTESTED = "the target's applications write it, too (`conflicts`), so its rows may be newer: `ddlrepl refresh`"


def repair(run: RunContext, patterns: Sequence[str] = (), *, log_has_gap: bool = False) -> Comparison:
    """Compare, write the rows that differ at any target, set sequences, and compare again.

    Rows that the log brings are not written. Where the shape differs, too, or rows have no key, the table is refreshed
    row by row. Tables with answers to conflicts are left as they are. log_has_gap: rows and shapes were changed in no
    log, so what seems in flight may never come: its tables are refreshed row by row. Raises what `refresh` raises.
    """
    require_not_cut_over(run)
    found, compared = look(run, patterns)
    contested = {one.report.table for one in compared if _is_contested(run, one)}
    unlike = {one.report.table: one for one in compared if one.report.differences and not one.report.waits}
    if log_has_gap:
        unlike |= {one.report.table: one for one in compared if one.task is not None and not one.report.is_settled}
    wanted = sorted(unlike.keys() - contested)
    for name in sorted(unlike.keys() & contested):
        log.warning("%s is not repaired: %s", name, CONTESTED)
    if not wanted and not found.sequences:
        return replace(found, unrepaired=tuple(map(str, sorted(contested & unlike.keys()))))
    by_key = [one for one in compared if one.report.table in wanted and _is_by_key(one) and not log_has_gap]
    differs = {one.report.table for one in compared if one.report.differences}
    whole = set(wanted) if log_has_gap else differs & set(wanted)
    whole -= {one.report.table for one in by_key} - _other_ways(compared, by_key)
    with run.locked("repair", WAIT_SECONDS):
        whole |= _write_rows(run, [one for one in by_key if one.report.table not in whole])
    if whole:
        refresh(run, [exact_pattern(name) for name in sorted(whole)], BY_ROW)
    if found.sequences or not patterns:
        _repair_sequences(run)
    again, _ = look(run, patterns)
    still = {table.table for table in again.tables if table.differences}
    return replace(
        again,
        repaired=tuple(str(name) for name in wanted if name not in still),
        unrepaired=tuple(str(name) for name in sorted(unlike) if name in still),
        seconds=round(found.seconds + again.seconds, 2),
    )


def _other_ways(compared: Sequence[Compared], by_key: Sequence[Compared]) -> set[TableName]:
    """Return the tables that differ at some target in another way than by rows with keys."""
    unlike = [one for one in compared if one.report.differences and not one.report.waits]
    return {one.report.table for one in unlike if one not in by_key}


def _is_contested(run: RunContext, one: Compared) -> bool:
    return run.channel.at(one.report.at).settings(one.table.name).conflicts is not None


def _is_by_key(one: Compared) -> bool:
    """Can the table's rows be written by their keys, each as the source has it?"""
    report, task = one.report, one.task
    if task is None or not report.unlike or report.structure or report.is_partial or len(report.unlike) > MOST_ROWS:
        return False
    key = task.source.key.columns if task.source.key else ()
    has_key = bool(key) and {column.id for column in task.shape.columns} >= set(key)
    return has_key and not deletion_column(task.shape) and history_columns(task.shape) is None


def _write_rows(run: RunContext, chosen: Sequence[Compared]) -> set[TableName]:
    """Write the rows of these tables that differ; nobody else moves a target meanwhile.

    Return the tables at targets that write no single rows. A table whose rows can't be written is named in the log, and
    the comparison afterwards names what differs.
    """
    shapes = ShapesAhead(run)
    by_target: dict[str, list[Compared]] = defaultdict(list)
    left: set[TableName] = set()
    for one in chosen:
        by_target[one.report.at].append(one)
    for target, ours in by_target.items():
        claim(run, target)
        with run.source.reading([one.table.id for one in ours]) as rows:
            for one in tasks_of(run, target, ours, rows):
                try:
                    _write(run, target, one, shapes)
                except Unsupported:
                    left.add(one.report.table)
                except (SourceError, TargetError, TrailError) as error:
                    _warn(one.report.table, error)
    return left


def _write(run: RunContext, target: str, one: Compared, shapes: ShapesAhead) -> None:
    assert one.task is not None and one.state is not None
    if shapes.is_changed(one.table, one.low):
        log.warning("%s is not repaired: %s", one.report.table, CHANGING)
        return
    keys = tuple(row.key for row in one.report.unlike)
    task = RepairTask(one.task, one.state, keys)
    done = able(run.target(target), RepairsRows).repair_rows(task, run.fence, lambda: rows_ahead(run, one, shapes))
    log.info("repaired %s at target %s, %s", one.report.table, target, done)


def _warn(table: TableName, error: DdlReplError) -> None:
    log.warning("%s is not repaired: %s: %s; %s", table, error.code, error.message, error.hint)


def _repair_sequences(run: RunContext) -> None:
    """Bring the sequences of every target to the source's; a table that was loaded draws from them again."""
    names = [target.name for target in run.channel.targets if run.target(target.name).find_state() is not None]
    with run.locked("repair of sequences", WAIT_SECONDS):
        for name in names if run.channel.db_sequence is not None else ():
            claim(run, name)
            bring_sequences(run, name, source_sequences(run, [name]))
