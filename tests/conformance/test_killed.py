"""Killed at any point, a run into any engine leaves nothing that the next one can't make good."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.abilities.sequences import HasSequences
from airflow_ddlrepl.engines.ability import find
from airflow_ddlrepl.engines.target import Target
from airflow_ddlrepl.failpoint import FAIL_POINTS
from airflow_ddlrepl.ports.work import InProcess
from tests.conformance import places
from tests.conformance.conftest import ENGINES, IN_POSTGRES, IN_REST, MakePlace
from tests.conformance.runs import run_and_die
from tests.conformance.work import START, Worker
from tests.conftest import Databases

FIRST = int(os.environ.get("DDLREPL_CHAOS_FROM", "1"))
LIVES = int(os.environ.get("DDLREPL_CHAOS_LIVES", "2"))
DROPS = [{"add_table_pattern": "*", "on_drop_table": "DROP_FROM_CHANNEL_AND_TARGET"}]
POINTS = [point for point in FAIL_POINTS if point.startswith(("ledger.", "integrate.", "refresh.", "record.", "lake."))]
EVERYWHERE = pytest.mark.parametrize("make_place", [*ENGINES, IN_POSTGRES, IN_REST], indirect=True)
PIECES = ("ledger.begun", "ledger.acted", "ledger.done", "integrate.rows")


def _work(number: int) -> tuple[str, ...]:
    """Something for each stage, twice: rows around a change of a shape, a new table, a refresh."""
    return (
        f"begin; insert into orders (id, note) values ({number}00, 'new');"
        f" alter table orders add c{number} int default 1; update orders set c{number} = 2 where id < 5;"
        f" alter table orders rename c{number} to d{number};"
        f" insert into orders (id, d{number}) values ({number}01, null); commit",
        f"create table t{number} (id int primary key, a text); insert into t{number} values (1, 'a')",
        f"create sequence q{number}; select nextval('q{number}')",
        f"insert into log (what, n) values ('twice', {number}), ('twice', {number})",
        f"alter table t{number} add u text default md5(random()::text)",
        "delete from log where ctid = (select min(ctid) from log)",
    )


@EVERYWHERE
@pytest.mark.req("XR-09")
def test_runs_killed_at_each_fail_point_in_turn_are_made_good(make_place: MakePlace) -> None:
    """In one channel: what one run leaves undone the next one finds. With more lives, twice at each point."""
    place = make_place()
    place.start()
    with flow.open_channel(place.replica.file, InProcess()) as run:
        target = run.target("warehouse")
    if find(target, HasSequences) is not None:
        place.replica.file.write_text(place.replica.file.read_text() + "db_sequence: true\n")
    for number, point in enumerate([one for one in POINTS if _is_reached(one, target)], 1):
        place.replica.at_source(*_work(number))
        assert run_and_die("replicate", place.replica.file, point), f"no run comes to {point}"
        if "DDLREPL_CHAOS_LIVES" in os.environ:
            run_and_die("replicate", place.replica.file, f"{point}:2")
        if number % 4 == 0:
            place.settle()
    place.settle()


def _is_reached(point: str, of: Target) -> bool:
    """A target that commits everything together has no ledger; one that does not stages and alters in its own way."""
    if point.startswith("lake."):
        return "catalog=rest" in getattr(of, "location", "")
    if point == "integrate.sequences":
        return find(of, HasSequences) is not None
    if of.capabilities.transactional_ddl:
        return not point.startswith("ledger.") and point not in ("integrate.loaded", "integrate.first_commit")
    return point not in ("integrate.loaded", "integrate.altered", "integrate.first_commit")


@EVERYWHERE
@pytest.mark.req("XR-09")
@pytest.mark.parametrize("point", ["activate.target", "ledger.acted", "ledger.done", "refresh.chunk", "refresh.placed"])
def test_an_activation_killed_at_a_fail_point_is_made_good(make_place: MakePlace, point: str) -> None:
    place = make_place()
    place.replica.at_source(*START)
    run_and_die("activate", place.replica.file, point)
    place.replica.at_source("insert into orders values (77, 'meanwhile')", "alter table log add c int default 7")
    place.replica.activate()
    place.settle()


@EVERYWHERE
@pytest.mark.req("XR-09")
@pytest.mark.parametrize("seed", range(FIRST, FIRST + LIVES))
def test_random_work_whose_runs_are_killed_anywhere_ends_equal(make_place: MakePlace, seed: int) -> None:
    """Each run dies at one of the fail points that it comes to, whichever it is; some come to their end."""
    place = make_place(adapt_ddl=DROPS) if seed % 2 else make_place()
    place.start()
    worker = Worker(place.replica.source, seed)
    said, kills = list[str](), 0
    try:
        for number in range(6):
            said += worker.work(worker.rng.randrange(2, 10))
            kills += run_and_die("replicate", place.replica.file, f"*:{worker.rng.randrange(1, 40)}")
            if number == 3:
                place.settle()
        place.settle()
    except BaseException:
        print(f"seed {seed}, {kills} kills:", *said, sep="\n")
        raise
    assert kills


@pytest.mark.req("XR-09")
def test_killed_runs_leave_the_same_records_as_others(databases: Databases, tmp_path: Path) -> None:
    """The ledger of the repository has each step once, and each refresh with its reason."""
    found = []
    for killed in (False, True):
        folder = tmp_path / str(killed)
        folder.mkdir()
        name = f"records_{killed}".lower()
        place = places.files(folder, databases.server.create_database(name), source={"slot": name})
        place.start()
        place.replica.at_source(*_work(1))
        for point in [f"{name}:{nth}" for nth in (1, 2) for name in PIECES] if killed else []:
            run_and_die("replicate", place.replica.file, point)
        place.settle()
        found.append(_recorded(place))
        databases.server.drop_database(name)
    assert found[0][0] and found[0][1]
    assert found[0] == found[1]


def _recorded(place: places.Place) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    with flow.open_channel(place.replica.file, InProcess()) as run:
        names = {row.table_id: str(row.name) for row in run.repository.tables("shop")}
        steps = [(names[r.table_id], r.revision, r.step, r.summary) for r in run.repository.ledger("shop")]
        loads = [(names[r.table_id], r.reason, r.state, r.rows) for r in run.repository.refreshes("shop")]
        return sorted(steps), sorted(loads)
