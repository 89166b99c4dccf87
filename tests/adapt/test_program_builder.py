"""A program is built again, from the beginning, for each statement that the target passes over."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from dataclasses import replace

import pytest

from airflow_ddlrepl.adapt.plan_model import Step, StepKind, TablePlan
from airflow_ddlrepl.adapt.program.builder import ProgramBuilder
from airflow_ddlrepl.flow.apply.pending_log import PendingLog
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


def carried(
    before: TableState | None, new: Table | None, event: Event, table_states: Mapping[int, TableState], reload: str = ""
) -> TablePlan:
    return TablePlan(NAME, NAME, ("a change",), (), (Step(StepKind.SQL, "a change", ("ALTER …",)),), (), new)


def test_a_program_that_is_cut_where_rows_alone_follow_is_the_one_that_is_built_to_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shapes = {i: [Table(i, TableName("public", f"t{i}"), (), storage=at) for at in range(3)] for i in (1, 2, 3, 4)}
    events = [
        Event(EventKind.DDL, LogKey(at, 0), at, 0, tag="ALTER TABLE", statement="ALTER …", tables=(shapes[i][at % 3],))
        for at, i in ((3, 1), (4, 2), (6, 1), (7, 3))
    ]
    state = {i: TableState(i, shapes[i][0].name, shapes[i][0], TableStatus.LIVE) for i in shapes}
    pending = PendingLog(
        "copy",
        Position(1),
        Position(20),
        state,
        events,
        ProgramBuilder(carried, lambda i, _: shapes[i][0], frozenset(shapes), Client(), lambda table, _: table),
    )
    whole = pending.program(Position(20))
    assert whole.last_step == Position(8)
    assert whole.cut(Position(8)) == pending.program(Position(8)) != whole
    assert pending.shortened(whole, Position(7)) == pending.program(Position(7)) != whole.cut(Position(7))
    monkeypatch.setattr(ProgramBuilder, "build", None)  # nothing is planned again
    assert pending.shortened(whole, Position(8)) == whole.cut(Position(8))
