"""Killed at any point, a run leaves nothing that the next one can't mend: nothing is lost, nothing applied twice.

`make chaos` does the same to many more channels (docs/testing.md). DDLREPL_CHAOS_FROM: the first seed of the sample.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.engines.postgres.target.outbox import write_records
from airflow_ddlrepl.failpoint import FAIL_POINTS
from airflow_ddlrepl.model.record import StepApplied
from airflow_ddlrepl.ports.work import InProcess
from tests.chaos.life import killed_anywhere
from tests.chaos.returns import killed_rewinds
from tests.chaos.source import START, work
from tests.chaos.traces import look
from tests.conftest import Databases
from tests.support.crashing import die
from tests.support.replica import Replica, channel_file

FIRST = int(os.environ.get("DDLREPL_CHAOS_FROM", "1"))
LIVES, KILLS, REWINDS_KILLED = 3, 6, 4
IN_ACTIVATION = [*(name for name in FAIL_POINTS if name.startswith("activate.")), "refresh.chunk", "refresh.placed"]
STRETCHES = {
    stage: [name for name in FAIL_POINTS if name.startswith(stages)]
    for stage, stages in {
        "capture": ("capture.", "trail."),
        "integrate": ("integrate.", "record."),
        "refresh": ("refresh.",),
        "keep": ("keep.",),
    }.items()
}
_numbers = count(1)


def new_replica(server: PrivateServer, folder: Path) -> tuple[Replica, list[str]]:
    number = next(_numbers)
    names = [f"crash_source_{number}", f"crash_target_{number}"]
    source, target = (server.create_database(name) for name in names)
    slot = {"slot": f"crash_{number}"}  # slots are the server's, not the database's
    file = channel_file(folder, source, target, source=slot, retention={"size": 0}, db_sequence=True)
    return Replica(source, target, file), names


@pytest.fixture(scope="module")
def replica(pg18: PrivateServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replica]:
    """One channel that lives through all the crashes."""
    found, names = new_replica(pg18, tmp_path_factory.mktemp("crash"))
    found.at_source(*START)
    found.activate()
    yield found
    for name in names:
        pg18.drop_database(name)


def settle(replica: Replica) -> None:
    replica.settle()
    assert not look(replica), str(look(replica))


@pytest.mark.req("XR-09")
@pytest.mark.parametrize("stretch", STRETCHES)
def test_cycles_killed_at_every_fail_point_in_turn_are_made_good(replica: Replica, stretch: str) -> None:
    """Each run dies a little later than the one before; meanwhile more happens at the source."""
    number = 0
    for place, point in enumerate(STRETCHES[stretch]):
        if not number or point == "integrate.first_commit":  # by then the first work is committed
            number = next(_numbers)
            replica.at_source(*work(number))
        die("replicate", replica.file, point)
        replica.at_source(
            "insert into kept.log values ('after the crash', 3)",
            f"update kept.orders set note = 'after {place}' where id = {number}002",
            f"alter table kept.made_{number} add column t{place} text default 'd'",
        )
    settle(replica)


@pytest.mark.req("XR-09")
def test_activations_killed_at_every_fail_point_are_made_good_in_the_end(pg18: PrivateServer, tmp_path: Path) -> None:
    replica, names = new_replica(pg18, tmp_path)
    replica.at_source(*START)
    for number, point in enumerate(IN_ACTIVATION):
        die("activate", replica.file, point)
        replica.at_source(
            f"insert into kept.orders (id) values ({1000 + number})",
            f"alter table kept.log add column c{number} int default 7",
        )
    replica.activate()
    replica.at_source("insert into kept.log (what, n, c0) values ('late', 1, 2)")
    settle(replica)
    for name in names:
        pg18.drop_database(name)


@pytest.mark.req("XR-09")
@pytest.mark.parametrize("seed", range(FIRST, FIRST + LIVES))
def test_runs_killed_at_any_moment_are_made_good(pg18: PrivateServer, seed: int) -> None:
    """Random histories, several sessions, a writer that goes on; one of the killed runs is one of Spark."""
    story = killed_anywhere(pg18, seed, KILLS)
    print(f"seed {seed}: {'; '.join(story.kills)}")
    if story.trouble:
        pytest.fail(f"seed {seed}: {story.trouble}\n{story.history}", pytrace=False)


@pytest.mark.req("XR-09")
def test_rewinds_killed_at_any_moment_are_made_good(pg18: PrivateServer) -> None:
    """Into the replay, and of a live target; done again they end right, and a cycle finds all equal."""
    story = killed_rewinds(pg18, FIRST, REWINDS_KILLED)
    print(f"seed {FIRST}: {'; '.join(story.kills)}")
    if story.trouble:
        pytest.fail(f"seed {FIRST}: {story.trouble}\n{story.history}", pytrace=False)
    assert len(story.kills) == REWINDS_KILLED


def recorded(replica: Replica) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    """The ledger and the refreshes, by what does not differ between two channels."""
    with flow.open_channel(replica.file, InProcess()) as run:
        names = {row.table_id: str(row.name) for row in run.repository.tables("shop")}
        steps = [(names[r.table_id], r.revision, r.step, r.summary) for r in run.repository.ledger("shop")]
        loads = [(names[r.table_id], r.reason, r.state, r.rows) for r in run.repository.refreshes("shop")]
        return sorted(steps), sorted(loads)


def test_what_killed_runs_did_is_recorded_by_the_next(pg18: PrivateServer, tmp_path: Path) -> None:
    """Ledger and refreshes are the same as those of a channel that nobody killed."""
    found = []
    points = ("integrate.committed", "record.repository", "refresh.placed")
    for folder, killed_at in ((tmp_path / "calm", ()), (tmp_path / "killed", points)):
        folder.mkdir()
        replica, names = new_replica(pg18, folder)
        replica.at_source(*START)
        replica.activate()
        replica.at_source(*work(1))
        for point in killed_at:
            die("replicate", replica.file, point)
        settle(replica)
        found.append(recorded(replica))
        for name in names:
            pg18.drop_database(name)
    calm, killed = found
    assert ("kept.rates", "done") in {(load[0], load[2]) for load in calm[1]}
    assert any(step[0] == "kept.orders" for step in calm[0])
    assert killed == calm


def test_something_to_record_is_work_for_the_next_run(databases: Databases, tmp_path: Path) -> None:
    """A DAG whose run was killed after the target's commit looks for it, though nothing new is in the log."""
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.at_source(*START)
    replica.activate()
    replica.settle()
    channel = load_channel(replica.file)
    assert not flow.has_work(channel, "adapt")
    with psycopg.connect(replica.target) as connection, connection.cursor() as cursor:
        (table_id,) = cursor.execute("select min(table_id) from ddlrepl.tables").fetchone() or (0,)
        write_records(cursor, "shop", [StepApplied(table_id, 7, 0, "", "was killed")])
    assert flow.has_work(channel, "adapt")
    with flow.open_channel(replica.file, InProcess()) as run:
        flow.adapt(run)
        (row,) = run.repository.ledger("shop")
    assert (row.table_id, row.revision, row.summary) == (table_id, 7, "was killed")
    assert not flow.has_work(channel, "adapt")
