"""A program is built again, from the beginning, for each statement that the target passes over."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from dataclasses import replace

from airflow_ddlrepl.adapt.plan_model import Step, StepKind, TablePlan
from airflow_ddlrepl.adapt.program.builder import ProgramBuilder
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.scope.client import Client

NAME = TableName("public", "t")
TABLE = Table(1, NAME, ())
ALTERS, CALLS = 300, 100


def planned(
    before: TableState | None, new: Table | None, event: Event, table_states: Mapping[int, TableState], reload: str = ""
) -> TablePlan:
    if event.discarded:
        return TablePlan(NAME, NAME, (), (), (), (), TABLE)
    return TablePlan(NAME, NAME, (), (), (Step(StepKind.REFUSE, "no"),), (), TABLE)


def test_any_number_of_statements_may_be_passed_over() -> None:
    """However many there are, the calls are not nested; one that is not passed over stops the program before it."""
    events = [
        Event(EventKind.DDL, LogKey(at, 0), at, 0, tag="ALTER TABLE", statement="ALTER TABLE t …", tables=(TABLE,))
        for at in range(1, ALTERS + 1)
    ]
    builder = ProgramBuilder(planned, lambda *_: TABLE, frozenset({1}), Client(), lambda table, _: table)
    state = {1: TableState(1, NAME, TABLE, TableStatus.LIVE)}
    limit = sys.getrecursionlimit()
    stopped = builder.build(state, events, Position(1), Position(ALTERS + 1))
    assert (stopped.high, stopped.stop and stopped.stop.name) == (Position(1), NAME)
    builder.passed_over = lambda event, _: replace(event, discarded="DDLERROR")
    try:
        sys.setrecursionlimit(len(inspect.stack()) + CALLS)
        whole = builder.build(state, events, Position(1), Position(ALTERS + 1))
    finally:
        sys.setrecursionlimit(limit)
    assert whole.stop is None and whole.high == Position(ALTERS + 1)
