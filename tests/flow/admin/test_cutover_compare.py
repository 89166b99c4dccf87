"""A cut-over that compares: what is on its way is no difference before its last cycle, and nothing is afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.cli.exit_codes import judge_cutover
from airflow_ddlrepl.engines.comparing import WrittenKeys
from airflow_ddlrepl.errors import CannotCutOver, Exit
from airflow_ddlrepl.flow.comparing import compare as comparing
from airflow_ddlrepl.flow.comparing import in_flight
from airflow_ddlrepl.flow.cutover import differences
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.ports.work import InProcess
from tests.flow.admin.test_cutover_check import check
from tests.support.replica import BOTH, Make, Replica

SHOP = (
    "CREATE TABLE orders (id int PRIMARY KEY, amount int)",
    "INSERT INTO orders SELECT i, i FROM generate_series(1, 100) i",
)


def unmet(replica: Replica) -> dict[str, tuple[str, ...]]:
    """What a check that compares finds, by code."""
    return {one.code.value: one.found for one in check(replica, compares=True).conditions if one.found}


def known(replica: Replica) -> tuple[str, tuple[str, ...]]:
    """What a check that does not compare tells of differences."""
    (one,) = (one for one in check(replica).conditions if one.code == "CUT-131")
    return one.what, one.found


def cut_over(replica: Replica, *accepted: str) -> Any:
    with flow.open_channel(replica.file, InProcess()) as cycle:
        return flow.cut_over(cycle, accepted, compares=True)


@BOTH
@pytest.mark.parametrize("is_captured", [False, True], ids=["uncaptured", "captured"])
def test_a_row_that_is_gone_is_found_among_those_on_their_way(make: Make, is_captured: bool) -> None:
    replica = make(*SHOP)
    replica.settle()
    replica.at_source(
        "UPDATE orders SET amount = 0 WHERE id <= 20",
        "ALTER TABLE orders ADD note text",
        "CREATE TABLE late (id int PRIMARY KEY)",
    )
    if is_captured:
        replica.capture()
    on_its_way = (
        "public.late: the table is not at target warehouse yet: run `ddlrepl replicate`",
        "public.orders: 20 rows, column note is not known at the target yet",
    )
    found = check(replica, compares=True)
    assert {one.code.value: one.found for one in found.conditions if one.code != "CUT-110" and one.found} == {
        "CUT-119": on_its_way
    }
    assert judge_cutover(found) is Exit.DONE and found.is_ready and not found.is_complete

    replica.at_target("DELETE FROM orders WHERE id = 50")
    found = check(replica, compares=True)
    told = {one.code.value: one.found for one in found.conditions if one.code != "CUT-110" and one.found}
    assert told == {"CUT-119": on_its_way, "CUT-131": ("public.orders: 1 missing",)}
    assert judge_cutover(found) is Exit.FAILED
    replica.replicate()
    with flow.open_channel(replica.file, InProcess()) as cycle:
        flow.repair(cycle)
    cut_over(replica)
    assert unmet(replica) == {}
    assert replica.rows("SELECT count(*), sum(amount), count(note) FROM orders") == [(100, 5050 - 210, 0)]


def test_the_last_comparison_is_told_with_what_it_could_not_compare(make: Make) -> None:
    replica = make(*SHOP)
    replica.at_source("UPDATE orders SET amount = 0 WHERE id <= 20")
    replica.compare()
    what, found = known(replica)
    assert what.endswith(", but for 20 rows and columns that were on their way and could not be compared")
    assert found == ()
    replica.settle()
    assert "on their way" not in known(replica)[0]


def test_a_comparison_of_one_table_since_counts(make: Make) -> None:
    replica = make(*SHOP)
    replica.settle()
    replica.at_target("DELETE FROM orders WHERE id = 50")
    for repairs in (False, True):
        with flow.open_channel(replica.file, InProcess()) as cycle:
            (flow.repair if repairs else flow.compare)(cycle, ["public.orders"])
        assert [one[:20] for one in known(replica)[1]] == ([] if repairs else ["1 when last compared"])


def test_a_table_of_which_nobody_can_say_which_rows_differ_is_named(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the last cycle a comparison may be unable to say it; afterwards there is no log that makes it so."""
    replica = make(*SHOP)
    replica.settle()
    replica.at_source("UPDATE orders SET amount = 0 WHERE id <= 20")

    def unshown(_: WrittenKeys) -> None:
        return None  # as of values that can't be read from the log alone

    monkeypatch.setattr(in_flight, "written_keys", unshown)
    found = check(replica, compares=True)
    (told,) = next(one for one in found.conditions if one.code == "CUT-131").found
    assert told.startswith("public.orders: can't tell which rows differ: rows of it are in flight")
    assert not found.is_ready and judge_cutover(found) is Exit.FAILED
    cut_over(replica)
    assert unmet(replica) == {}


def before_the_comparison(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Do this when the last cycle has ended and nobody has written for a while: right before it compares."""

    def late(run: RunContext) -> Any:
        act()
        return comparing.compare(run)

    monkeypatch.setattr(differences, "compare", late)


@BOTH
def test_after_the_last_cycle_nothing_may_be_on_its_way(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    replica = make(*SHOP)
    replica.settle()
    before_the_comparison(monkeypatch, lambda: replica.at_source("UPDATE orders SET amount = 0 WHERE id <= 20"))
    with pytest.raises(CannotCutOver, match=r"CUT-102.*CUT-119 what is on its way.*: public.orders: 20 rows"):
        cut_over(replica)
    monkeypatch.undo()
    cut_over(replica)
    assert unmet(replica) == {}


def test_a_row_that_is_gone_stops_the_cut_over_itself(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    replica = make(*SHOP)
    replica.settle()
    before_the_comparison(monkeypatch, lambda: replica.at_target("DELETE FROM orders WHERE id = 50"))
    with pytest.raises(CannotCutOver, match=r"CUT-102.*CUT-131 tables that differ.*: public.orders: 1 missing"):
        cut_over(replica)
    replica.replicate()  # the channel goes on


def test_a_table_that_cycles_load_whole_is_no_difference_before_the_last_load(make: Make) -> None:
    replica = make("CREATE TABLE t (a int, b int GENERATED ALWAYS AS (a + 1) VIRTUAL)", "INSERT INTO t VALUES (1)")
    replica.settle()
    replica.at_source("INSERT INTO t VALUES (2)")
    found = unmet(replica)
    assert found["CUT-119"] == ("public.t: 1 missing, until it is loaded again",)
    assert "CUT-131" not in found and check(replica, compares=True).is_ready
    cut_over(replica)
    assert replica.rows("SELECT a FROM t ORDER BY a") == [(1,), (2,)]
