"""This module defines ready rows: what an engine merges into one table, and what it is told besides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_ddlrepl.integrate.netting.net_changes import NetRows
from airflow_ddlrepl.integrate.row_plan import RowPlan
from airflow_ddlrepl.integrate.stage_task import StageTask
from airflow_ddlrepl.integrate.steps.discarded_row import DiscardedRow
from airflow_ddlrepl.mapping.misfits import TOLD_DISCARDED
from airflow_ddlrepl.model.settings.row_kind import RowKind


@dataclass(slots=True)
class LeftOut:
    """This is what a target does not take of changes, or not as they are at the source."""

    outside: int = 0
    """How many changes are about rows that the target does not take (`restrict`)."""
    ignored: Mapping[RowKind, int] = field(default_factory=dict)
    """How many changes their kind has left out (`ignore`)."""
    nulled: Mapping[str, int] = field(default_factory=dict)
    """How many values became NULL because the target's column can't hold them, by what a person is told."""
    settled: tuple[tuple[str, ...], ...] = ()
    """Keys of rows that are not discarded any more, but for those in `discarded`."""
    discarded: tuple[DiscardedRow, ...] = ()
    """Rows that do not fit the target's columns at the end."""

    @property
    def warnings(self) -> Mapping[str, int]:
        """Return what a person is told of rows and values that do not fit, each with how many they are."""
        return {**self.nulled, **({TOLD_DISCARDED: len(self.discarded)} if self.discarded else {})}


@dataclass(frozen=True, slots=True)
class ReadyRows:
    """Ready rows are one table's (or one bucket's) net change: an engine stores it until it is merged."""

    task: StageTask
    """It has the table's shapes, its name at the target, and a name for what is stored."""
    plan: RowPlan
    """It has the columns of the rows, and the target's columns that they do not know."""
    rows: NetRows
    read: int
    """How many changes were read from the trail."""
    left_out: LeftOut
