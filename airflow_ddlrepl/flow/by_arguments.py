"""These functions run stages with arguments as apps, operators and the command line have them: texts and names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_ddlrepl.compare.report import Comparison
from airflow_ddlrepl.flow.admin.activate import activate as activate_channel
from airflow_ddlrepl.flow.admin.isolated_refresh import refresh_isolated
from airflow_ddlrepl.flow.comparing import compare as comparing
from airflow_ddlrepl.flow.comparing import repair as repairing
from airflow_ddlrepl.flow.cutover import check as checking
from airflow_ddlrepl.flow.cutover import cut_over as switching
from airflow_ddlrepl.flow.refresh.refresh import refresh as refresh_tables
from airflow_ddlrepl.flow.rewind.rewind import Rewound
from airflow_ddlrepl.flow.rewind.rewind import rewind as rewind_tables
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.run.results import Activated, Refreshed
from airflow_ddlrepl.flow.stages import DELETED_PERCENT, RETAIN, SMALL_FILES
from airflow_ddlrepl.flow.targets import maintenance
from airflow_ddlrepl.notation.moment import parse_start, parse_until
from airflow_ddlrepl.notation.name_pattern import table_patterns
from airflow_ddlrepl.notation.refresh_options import options_for


def activate(run: RunContext, *, start_moment: str = "now", refresh: bool = True, **how: Any) -> Activated:
    """Activate the channel. how: enrollment, trail, accept, as `flow.activate` takes them.

    Raises ConfigError CFG-110 or CFG-111 when `start_moment` can't be parsed.
    """
    return activate_channel(run, load=refresh, start=parse_start(start_moment, run.positions), **how)


def refresh(run: RunContext, *, tables: Sequence[str] = (), options: str = "") -> Refreshed:
    """Load the tables that the patterns name, with the options; and those that wait for a refresh.

    Raises ConfigError CFG-136 or CFG-137 when the options can't be parsed, or no table is named for them.
    """
    how = options_for(tables, options)
    return (refresh_isolated if how.isolates else refresh_tables)(run, table_patterns(tables), how)


def refresh_beside_others(run: RunContext, *, tables: Sequence[str] = (), options: str = "-inow") -> Refreshed:
    """Load the tables that the patterns name, and those that are isolated already, while other runs go on."""
    return refresh(run, tables=tables, options=options)


def compare(run: RunContext, *, tables: Sequence[str] = ()) -> Comparison:
    """Return what differs. tables: patterns; none: all of the channel."""
    return comparing.compare(run, table_patterns(tables))


def repair(run: RunContext, *, tables: Sequence[str] = ()) -> Comparison:
    """Write what differs, row by row, and return what differs afterwards. tables: patterns; none: all."""
    return repairing.repair(run, table_patterns(tables))


def maintain(
    run: RunContext,
    *,
    tables: Sequence[str] = (),
    retain: str = RETAIN.default,
    small_files: str = SMALL_FILES.default,
    deleted_percent: str = DELETED_PERCENT.default,
) -> maintenance.Maintenance:
    """Compact the tables of lakes that the patterns select, and remove old snapshots and files.

    Raises ConfigError CFG-139 for a threshold that can't be read.
    """
    thresholds = maintenance.thresholds_for(run.channel, retain, small_files, deleted_percent)
    return maintenance.maintain(run, thresholds, table_patterns(tables))


def rewind(run: RunContext, *, to: str, into: str, tables: Sequence[str] = (), onward: bool = False) -> Rewound:
    """Build tables as of an earlier moment in a replay, or let a target go back and forward again.

    Raises ConfigError CFG-110 or CFG-111 when `to` is neither moment nor position.
    """
    return rewind_tables(run, parse_until(to, run.positions), into, table_patterns(tables), onward=onward)


def check_cut_over(run: RunContext, *, compare: bool = False) -> checking.CutOverCheck:
    """Return what is missing for a cut-over. compare: compare all tables, too."""
    return checking.check(run, compares=compare)


def cut_over(run: RunContext, *, compare: bool = False, accept: Sequence[str] = ()) -> switching.CutOverDone:
    """Switch applications over. accept: codes of conditions that need not be met."""
    return switching.cut_over(run, accept, compares=compare)
