"""A program is built up to several positions of one log; the plans of the part that the builds share are made once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_ddlrepl.adapt.plan_model import TablePlan
from airflow_ddlrepl.model.change import Event
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState


@dataclass
class PlanMemo:
    """A plan memo has the plans of the last build, in their order: a build that goes the same way takes them.

    A plan depends on all tables at the target, which are the same as long as all plans before it were the same.
    """

    _made: list[tuple[tuple[Any, ...], TablePlan]] = field(default_factory=list)
    _number: int = 0
    _suspended: int = 0

    def begin(self, suspended: int) -> None:
        """Begin a build. suspended: how many tables it suspends; with other ones than the last, no plan is taken."""
        if suspended != self._suspended:
            self._made.clear()
        self._number, self._suspended = 0, suspended

    def planned(
        self,
        plan: Callable[..., TablePlan],
        change: tuple[TableState | None, Table | None, Event],
        table_states: Mapping[int, TableState],
        reload: str,
    ) -> TablePlan:
        """Return the next plan: that of the last build, where it was about the same change.

        change: the table before, after, and the event. The rest is as `builder.Planner` takes it.
        """
        before, new, event = change
        call = (before, new, id(event), reload)
        if self._number < len(self._made) and self._made[self._number][0] == call:
            self._number += 1
            return self._made[self._number - 1][1]
        del self._made[self._number :]
        found = plan(before, new, event, table_states, reload)
        self._made.append((call, found))
        self._number += 1
        return found
