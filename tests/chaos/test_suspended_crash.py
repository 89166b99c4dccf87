"""A run that is killed while it suspends a table, or catches one up, leaves no row too few and none twice."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.model.table_state import TableStatus
from airflow_ddlrepl.ports.work import InProcess
from tests.chaos.refused import killed_while_refused
from tests.chaos.source import START, work
from tests.chaos.traces import look
from tests.support.crashing import die
from tests.support.replica import Replica, lasting

REFUSE = "alter table kept.log add constraint refuses check (what <> 'refused') not valid"
ACCEPT = "alter table kept.log drop constraint refuses"
KILLS = 5
_numbers = count(1)


@pytest.fixture(scope="module")
def replica(pg18: PrivateServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replica]:
    """One channel that lives through all the crashes."""
    folder = tmp_path_factory.mktemp("crash")
    with lasting(pg18, folder, "suspended_crash", START, retention={"size": 0}) as found:
        yield found


def refused_work(replica: Replica) -> None:
    """Rows of all tables around schema changes; the target refuses some of a table without a key."""
    number = next(_numbers)
    replica.at_source(
        *work(number),
        f"insert into kept.log values ('refused', {number}), ('refused', {number}), ('twice', 1), ('twice', 1)",
        f"alter table kept.log add column c{number} int default {number}",
        "delete from kept.log where ctid = (select max(ctid) from kept.log where what = 'refused')",
    )


def suspended(replica: Replica) -> set[str]:
    with flow.open_channel(replica.file, InProcess()) as run:
        states = run.target("warehouse").state().table_states.values()
    return {str(one.name) for one in states if one.state is TableStatus.SUSPENDED}


def suspend(replica: Replica) -> None:
    """One cycle: the table is suspended, and all others are at the target, each row once."""
    with pytest.raises(DdlReplError) as caught:
        replica.replicate()
    assert (caught.value.code, caught.value.table) == ("INT-123", "kept.log")
    assert suspended(replica) == {"kept.log"}
    traces = look(replica, but={"kept.log"})
    assert (traces.lost, traces.twice) == (0, 0), traces


def settle(replica: Replica) -> None:
    replica.settle()
    traces = look(replica)
    assert not traces, traces


IN_SUSPENSION = (
    "integrate.staged:1",
    "integrate.staged:2",
    "integrate.rows:2",
    "integrate.altered:2",
    "integrate.transaction",
    "integrate.committed",
)
IN_CATCH_UP = (
    ("integrate", "integrate.staged"),
    ("integrate", "integrate.altered"),
    ("integrate", "integrate.transaction"),
    ("integrate", "integrate.committed"),
    ("retry", "integrate.staged"),
    ("retry", "integrate.transaction"),
)


@pytest.mark.req("XR-09")
@pytest.mark.parametrize("point", IN_SUSPENSION)
def test_killed_while_a_table_is_suspended(replica: Replica, point: str) -> None:
    """Between the refusal and the commit of the other tables' rows, and after it."""
    replica.at_target(REFUSE)
    refused_work(replica)
    die("replicate", replica.file, point)
    refused_work(replica)
    suspend(replica)
    replica.at_target(ACCEPT)
    settle(replica)


@pytest.mark.req("XR-09")
@pytest.mark.parametrize(("stage", "point"), IN_CATCH_UP)
def test_killed_while_a_table_is_caught_up(replica: Replica, stage: str, point: str) -> None:
    """At first what was refused comes, then the rest: a run dies at either."""
    replica.at_target(REFUSE)
    for _ in range(2):
        refused_work(replica)
        suspend(replica)
    replica.at_target(ACCEPT)
    for _ in range(2):
        die(stage, replica.file, point)
    refused_work(replica)
    settle(replica)
    assert suspended(replica) == set()


@pytest.mark.req("XR-09")
def test_runs_killed_at_any_moment_while_rows_are_refused(pg18: PrivateServer) -> None:
    """Random histories, refusals that come and go, and a writer that goes on."""
    seed = int(os.environ.get("DDLREPL_CHAOS_FROM", "1"))
    story = killed_while_refused(pg18, seed, KILLS)
    print(f"seed {seed}: {'; '.join(story.kills)}")
    if story.trouble:
        pytest.fail(f"seed {seed}: {story.trouble}\n{story.history}", pytrace=False)
