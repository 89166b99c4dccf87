"""A table that a target of any engine refuses rows of is suspended; the others go on, and it comes after."""

from __future__ import annotations

import os
from contextlib import suppress

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.model.table_state import TableStatus
from airflow_ddlrepl.ports.work import InProcess
from tests.conformance.conftest import MakePlace
from tests.conformance.places import NAMES_TABLES, Place
from tests.conformance.runs import run_and_die
from tests.conformance.work import Worker

REFUSED = "refused"
FIRST = int(os.environ.get("DDLREPL_CHAOS_FROM", "1"))
LIVES = int(os.environ.get("DDLREPL_CHAOS_LIVES", "2"))


def ids(place: Place) -> dict[str, int]:
    with flow.open_channel(place.replica.file, InProcess()) as run:
        return {str(one.name): one.table_id for one in run.target("warehouse").state().table_states.values()}


def refused_work(place: Place, number: int) -> None:
    place.replica.at_source(
        f"insert into log values ('{REFUSED}', {number}), ('{REFUSED}', {number}), ('twice', {number})",
        f"begin; insert into orders values ({number}00, 'before'); alter table orders add c{number} int default 1;"
        f" insert into orders (id, note) values ({number}01, 'after'); commit",
        f"alter table log add c{number} int default {number}",
        f"delete from log where ctid = (select min(ctid) from log where what = '{REFUSED}')",
        f"create table t{number} (id int primary key); insert into t{number} values (1)",
    )


def test_a_refused_table_waits_at_its_place_in_the_log(make_place: MakePlace) -> None:
    place = make_place()
    place.start()
    log = ids(place)["public.log"]
    place.rule(log, REFUSED)
    for number in (1, 2):
        refused_work(place, number)
        assert place.suspend().table == "public.log"
    assert place.late() == {log} and place.states()["public.log"] is TableStatus.SUSPENDED
    place.replica.at_source(
        "alter table log rename to x; alter table orders rename to log; alter table x rename to orders",
        "insert into orders values ('in the renamed one', 1); insert into log (id) values (77)",
    )
    with suppress(DdlReplError):  # one engine loads the table all the same
        place.replica.replicate()
    place.check(but=place.late())
    place.rule(log, "")
    place.settle()
    place.replica.at_source("insert into log (id) values (78)")
    place.settle()


@pytest.mark.parametrize("how", ["refresh", "give_up", "drop"])
def test_other_ways_on(make_place: MakePlace, how: str) -> None:
    place = make_place(adapt_ddl=[{"add_table_pattern": "*", "on_drop_table": "DROP_FROM_CHANNEL_AND_TARGET"}])
    place.start()
    place.rule(ids(place)["public.log"], REFUSED)
    refused_work(place, 1)
    place.suspend()
    place.replica.at_source("drop table log" if how == "drop" else f"delete from log where what = '{REFUSED}'")
    if how == "refresh":
        place.replica.refresh("public.log")
    elif how == "give_up":
        with flow.open_channel(place.replica.file, InProcess()) as run:
            flow.give_up(run)
    place.settle()


@pytest.mark.req("XR-09")
@pytest.mark.parametrize("stage", ["integrate", "retry"])
def test_a_catch_up_that_is_killed_goes_on(make_place: MakePlace, stage: str) -> None:
    """At each fail point that it comes to, one after the other."""
    place = make_place()
    place.start()
    log = ids(place)["public.log"]
    place.rule(log, REFUSED)
    for number in (1, 2):
        refused_work(place, number)
        run_and_die_or_suspend(place, "replicate", f"*:{15 * number}")
        place.suspend()
    place.rule(log, "")
    died = [run_and_die(stage, place.replica.file, f"*:{number}") for number in range(1, 8)]
    assert any(died)
    refused_work(place, 3)
    place.settle()


def run_and_die_or_suspend(place: Place, stage: str, fail_at: str) -> None:
    """The run may come to its end before that; then it has named a suspended table."""
    try:
        run_and_die(stage, place.replica.file, fail_at)
    except AssertionError as error:
        assert str(error).startswith(f"{stage} with {fail_at} ended with 1"), error


@pytest.mark.parametrize("seed", range(FIRST, FIRST + LIVES))
def test_random_work_with_refused_rows_ends_equal(make_place: MakePlace, seed: int) -> None:
    place = make_place()
    place.start()
    worker, said, suspended = Worker(place.replica.source, seed), list[str](), 0
    try:
        for number in range(5):
            refused = worker.rng.choice(sorted(ids(place).values())) if not place.late() else 0
            if refused:
                place.rule(refused, f"v{number}")
            said += [f"-- {refused}", *worker.work(worker.rng.randrange(6, 20))]
            try:
                place.replica.replicate()
            except DdlReplError as error:
                assert error.code in NAMES_TABLES, error
                suspended += 1
            place.check(but=place.late())
            if refused:
                place.rule(refused, "")
                place.settle()
    except BaseException:
        print(f"seed {seed}:", *said, sep="\n")
        raise
    place.settle()
    print(f"{suspended} cycles with suspended tables")
