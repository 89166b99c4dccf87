"""A target of any engine follows its source: rows and schema changes in log order, refreshes, refusals, fencing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.compare.report import Kind
from airflow_ddlrepl.engines.abilities.of_target import RepairsRows
from airflow_ddlrepl.engines.duckdb.target_port import DuckTarget
from airflow_ddlrepl.engines.lake.target_port import LakeTarget
from airflow_ddlrepl.engines.postgres.target_port import PostgresTarget
from airflow_ddlrepl.engines.target_state import Fence, StateChange
from airflow_ddlrepl.errors import Fenced, TargetError, Unsupported
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.record import RefreshRequested
from airflow_ddlrepl.ports.work import InProcess
from tests.conformance.conftest import ENGINES, IN_POSTGRES, IN_REST, MakePlace
from tests.conformance.file_engine.target import FileTarget
from tests.conformance.work import Worker

pytestmark = pytest.mark.parametrize("make_place", [*ENGINES, IN_POSTGRES, IN_REST], indirect=True)
ORDERS = TableName("public", "orders")
NAMED = [(Kind.MISSING, "(7)"), (Kind.DIFFERENT, "(8)"), (Kind.EXTRA, "(99)")]
IMAGES = [
    (Kind.MISSING, "('7', 'order 7')"),
    (Kind.MISSING, "('8', 'order 8')"),
    (Kind.EXTRA, "('8', 'odd')"),
    (Kind.EXTRA, "('99', 'of nobody')"),
]


def test_first_rows_come_by_a_load_and_changes_by_the_log(make_place: MakePlace) -> None:
    place = make_place()
    place.start()
    place.check()
    place.replica.at_source(
        "update orders set note = null where id = 3",
        "update orders set id = 103 where id = 4",
        "begin; delete from orders where id = 5; insert into orders values (5, 'again'); commit",
        "delete from log where ctid = (select min(ctid) from log)",
        "insert into log values ('thrice', 1), ('thrice', 1), ('thrice', null)",
    )
    place.settle()


def test_schema_changes_stand_among_the_rows_as_in_the_log(make_place: MakePlace) -> None:
    place = make_place()
    place.start()
    place.replica.at_source(
        "begin; insert into orders values (40, 'before'); alter table orders add column c int default 7;"
        " insert into orders values (41, 'between', null); alter table orders rename note to remark;"
        " update orders set remark = 'after' where id = 40; commit",
        "alter table orders alter c type bigint",
        "alter table orders alter c type text",
        "alter table orders drop column remark",
        "create table made (id int primary key, t text); insert into made values (1, 'one')",
        "alter table made rename to renamed; insert into renamed values (2, 'two')",
        "truncate log; insert into log values ('first', 1)",
        "alter table orders rename to x; alter table renamed rename to orders; alter table x rename to renamed",
        "insert into orders values (3, 'in the other table'); delete from renamed where id = 40",
    )
    place.settle()


def test_a_dropped_table_goes_or_stays_as_the_policy_says(make_place: MakePlace) -> None:
    place = make_place(adapt_ddl=[{"add_table_pattern": "*", "on_drop_table": "DROP_FROM_CHANNEL_AND_TARGET"}])
    place.start("create table made (id int primary key)")
    place.replica.at_source("drop table made", "create table made (id text primary key); insert into made values ('x')")
    place.settle()


def test_a_change_that_only_the_source_can_make_comes_by_a_refresh(make_place: MakePlace) -> None:
    place = make_place()
    place.start()
    place.replica.at_source("alter table orders add column made_at text default md5(random()::text)")
    result = place.replica.replicate()
    assert list(result.adapt.refreshes) == ["public.orders"]
    place.check()
    place.replica.at_source("update orders set note = 'and on it goes' where id = 1")
    place.settle()


@pytest.mark.req("HVR-D-47", "HVR-D-55")
@pytest.mark.parametrize("able", [True, False])
@pytest.mark.parametrize("change", ["rename note to remark", "alter id type bigint"])
def test_a_column_that_a_target_can_not_alter_has_its_table_created_again(
    make_place: MakePlace, monkeypatch: pytest.MonkeyPatch, able: bool, change: str
) -> None:
    place = make_place()
    place.start()
    if not able:
        for kind in (PostgresTarget, FileTarget, DuckTarget, LakeTarget):
            fixed = replace(kind.capabilities, renames_columns=False, alters_types=False)
            monkeypatch.setattr(kind, "capabilities", fixed)
    place.replica.at_source("insert into orders values (50, 'before')", f"alter table orders {change}")
    place.replica.capture()
    ((plan,),) = place.replica.plan().targets.values()
    assert bool(plan.sql) is able and plan.needs_refresh is not able
    if not able:
        assert [step.why for step in plan.steps if "the table is created again" in step.why]
    told = place.replica.replicate()
    assert list(told.refresh.tables) == ([] if able else ["public.orders"])
    place.check()
    place.replica.at_source("insert into orders values (51, 'after')")
    place.settle()


def test_several_stages_one_after_the_other_leave_nothing_out(make_place: MakePlace) -> None:
    """Captured in pieces, brought at once; a refresh by hand in between has seen some of it already."""
    place = make_place()
    place.start()
    worker = Worker(place.replica.source, 11)
    for _ in range(3):
        worker.work(6)
        place.replica.capture()
    place.replica.refresh("*.*")
    worker.work(6)
    place.settle()


def test_a_run_that_is_too_late_writes_nothing(make_place: MakePlace) -> None:
    place = make_place()
    place.start()
    with flow.open_channel(place.replica.file, InProcess()) as run:
        target = run.target("warehouse")
        before = target.state()
        target.claim(Fence(before.epoch, before.token + 1))
        late = Fence(before.epoch, before.token)
        asked = RefreshRequested(1, "too late", Position(0))
        with pytest.raises(Fenced):
            target.claim(late)
        with pytest.raises(Fenced):
            target.change_state(StateChange(gone=list(before.table_states), records=[asked]), late)
        assert target.state().table_states.keys() == before.table_states.keys()
        assert target.outbox() == []


def test_what_is_left_for_the_repository_stays_until_it_is_acknowledged(make_place: MakePlace) -> None:
    place = make_place()
    place.start()
    with flow.open_channel(place.replica.file, InProcess()) as run:
        target = run.target("warehouse")
        fence = Fence(target.state().epoch, target.state().token + 1)
        left = [RefreshRequested(1, f"reason {n}", Position(n)) for n in range(3)]
        target.change_state(StateChange(records=left), fence)
        found = target.outbox()
        assert [record for _, record in found] == left
        target.acknowledge([number for number, _ in found[:2]])
        assert target.outbox() == found[2:]


def test_a_target_that_knows_nothing_of_the_channel_says_so(make_place: MakePlace) -> None:
    place = make_place()
    place.start()
    with flow.open_channel(place.replica.file, InProcess()) as run:
        target = run.target("warehouse")
        target.forget()
        assert target.find_state() is None and target.position() is None
        with pytest.raises(TargetError) as raised:
            target.state()
        assert raised.value.code == "TGT-101"


def test_compare_does_not_take_for_a_difference_what_is_in_flight(make_place: MakePlace) -> None:
    """An engine that can't tell which rows those are says so."""
    place = make_place()
    place.start()
    place.replica.check_equal()
    place.replica.at_source("insert into orders values (99, 'not replicated yet')", "delete from orders where id = 1")
    report = place.replica.compare()
    assert {str(one.table): (one.differences, one.is_settled) for one in report.tables} == {
        "public.orders": (0, False),
        "public.log": (0, True),
    }
    place.settle()
    place.replica.check_equal()


def test_compare_names_what_differs(make_place: MakePlace) -> None:
    """Somebody has taken a row away at the target, changed one and added one; the log brings none of them.

    Of an engine that has no keys a row that is changed is one that is missing and one that is extra.
    """
    place = make_place()
    place.start()
    place.replica.check_equal()
    notes = {str(i): f"order {i}" for i in range(1, 31)}
    place.write(ORDERS, {**{i: note for i, note in notes.items() if i != "7"}, "8": "odd", "99": "of nobody"})
    report = place.replica.compare()
    by_key = place.engine != "files"
    assert {str(one.table): (one.missing, one.extra, one.different, one.is_settled) for one in report.tables} == {
        "public.orders": (1, 1, 1, True) if by_key else (2, 2, 0, True),
        "public.log": (0, 0, 0, True),
    }
    (orders,) = (one for one in report.tables if one.differences)
    found = [(row.kind, row.key) for row in orders.rows]
    assert sorted(found) == sorted(NAMED if by_key else IMAGES)


@pytest.mark.parametrize("able", [True, False])
def test_a_repair_brings_back_what_differs(make_place: MakePlace, monkeypatch: pytest.MonkeyPatch, able: bool) -> None:
    """A kind of target that writes no single rows (ADP-193) has the whole table loaded."""
    place, refused = make_place(), list[str]()

    def repair_rows(*_: object) -> str:
        error = Unsupported(RepairsRows.lack.what, code=RepairsRows.lack.code, hint=RepairsRows.lack.hint)
        refused.append(str(error))
        raise error

    if not able:
        monkeypatch.setattr(PostgresTarget, "repair_rows", repair_rows)
    place.start()
    place.write(ORDERS, {str(i): f"order {i}" for i in range(2, 31)})
    with flow.open_channel(place.replica.file, InProcess()) as run, place.of_nobody():
        found = flow.repair(run)
    assert (found.repaired, found.differences) == (("public.orders",), 0)
    place.check()
    told = [one.startswith("ADP-193: ") and "ddlrepl refresh --table" in one for one in refused]
    assert told == ([True] if place.engine == "postgres" and not able else [])
