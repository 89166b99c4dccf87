"""A target that does not answer: one stage of a run finds it and fails by its name, and nobody waits for it again."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.engines.postgres.connection.connect import CONNECT_SECONDS, connect
from airflow_ddlrepl.errors import DdlReplError, Unreachable
from airflow_ddlrepl.flow.run.targets import AGAIN_SECONDS
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.refusing import ask, edit
from tests.support.replica import Replica, channel_file

DEAD = "postgresql://nobody@127.0.0.1:1/nowhere"
STAGES = ("capture", "adapt", "refresh", "integrate")


@pytest.fixture
def black_hole() -> Iterator[str]:
    """A place that takes connections and never says a word."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        yield f"postgresql://nobody@127.0.0.1:{listening.getsockname()[1]}/nowhere"


@pytest.fixture
def two(databases: Databases, tmp_path: Path, past: str) -> Replica:
    """Active with the targets `away`, which comes first, and `well`."""
    targets = [{"name": "away", "location": past}, {"name": "well", "location": databases.target}]
    file = channel_file(tmp_path, databases.source, databases.target, targets=targets)
    made = Replica(databases.source, databases.target, file)
    made.at_source("create table t (id int primary key, v text)", "insert into t values (1, 'a')")
    made.activate()
    return made


def as_tasks(replica: Replica, run_id: str, stages: tuple[str, ...] = STAGES) -> dict[str, Any]:
    """The stages of one run, each as a task of Airflow runs it; what each did or raised, None when it had no work."""
    found: dict[str, Any] = {}
    for name in stages:
        channel = load_channel(replica.file)
        try:
            found[name] = None
            if flow.do_here(channel, name, run_id):
                with flow.RunContext(channel, InProcess(), run_id) as run:
                    found[name] = getattr(flow, name)(run)
        except DdlReplError as error:
            found[name] = error
    return found


def failed(done: dict[str, Any]) -> dict[str, str]:
    return {name: f"{one.code}: {one.message}" for name, one in done.items() if isinstance(one, DdlReplError)}


def test_one_stage_finds_it(two: Replica, past: str) -> None:
    edit(two.file, past, DEAD)
    two.at_source("alter table t add n int default 3", "insert into t values (2, 'b')")
    done = as_tasks(two, "one")
    (error,) = failed(done).values()
    assert error.startswith("CON-101: target away: nobody@127.0.0.1:1/nowhere does not answer")
    assert failed(done).keys() == {"adapt"} and not done["adapt"].retryable
    assert ask(two.target, "select id, n from t order by id") == [(1, 3), (2, 3)]
    again = as_tasks(two, "two")
    assert failed(again).keys() == {"adapt"}
    edit(two.file, DEAD, past)
    assert failed(as_tasks(two, "three")) == {}
    two.check_equal()


def test_an_idle_run_fails_too(two: Replica, past: str) -> None:
    """Without Spark: there is no work but to say so."""
    edit(two.file, past, DEAD)
    with pytest.raises(Unreachable, match="CON-101: target away: "):
        flow.do_here(load_channel(two.file), "adapt", "idle")
    assert as_tasks(two, "idle", ("refresh", "integrate")) == {"refresh": None, "integrate": None}
    with flow.open_channel(two.file, InProcess()) as run:
        told = [(row.run_id, row.stage, row.code) for row in run.repository.errors("shop")]
    assert told == [("idle", "adapt", "CON-101")]


def test_it_answers_again_in_the_same_run(two: Replica, past: str) -> None:
    """It gets what the others get."""
    edit(two.file, past, DEAD)
    two.at_source("insert into t values (2, 'b')")
    assert failed(as_tasks(two, "one", ("capture", "adapt"))).keys() == {"adapt"}
    edit(two.file, DEAD, past)
    assert failed(as_tasks(two, "one", ("refresh", "integrate"))) == {}
    two.check_equal()


def test_a_stage_that_is_run_again_says_it_again(two: Replica, past: str) -> None:
    """A run whose stages are done again must not end well while the target is away."""
    edit(two.file, past, DEAD)
    assert failed(as_tasks(two, "one")).keys() == {"adapt"}
    assert failed(as_tasks(two, "one")).keys() == {"adapt"}
    edit(two.file, DEAD, past)
    assert failed(as_tasks(two, "one", ("adapt",))) == {}
    edit(two.file, past, DEAD)
    assert failed(as_tasks(two, "one", ("integrate",))).keys() == {"integrate"}


def test_all_of_them_are_named(two: Replica, past: str) -> None:
    edit(two.file, past, DEAD)
    edit(two.file, two.target, DEAD.replace("nowhere", "elsewhere"))
    assert failed(as_tasks(two, "one")).keys() == {"adapt"}
    with flow.open_channel(two.file, InProcess()) as run:
        told = {row.message.partition(": ")[0] for row in run.repository.errors("shop")}
    assert told == {"target away", "target well"}


def test_on_the_command_line(two: Replica, past: str) -> None:
    edit(two.file, past, DEAD)
    two.at_source("insert into t values (2, 'b')")
    for _ in range(2):
        with pytest.raises(Unreachable, match="CON-101: target away: "):
            two.replicate()
    assert ask(two.target, "select count(*) from t") == [(2,)]
    with pytest.raises(Unreachable, match="CON-101: target away: "):
        two.compare()
    with pytest.raises(Unreachable, match="CON-101: target away: "):
        two.activate()


def test_one_that_takes_connections_and_never_answers(two: Replica, past: str, black_hole: str) -> None:
    edit(two.file, past, f"{black_hole}?connect_timeout=3")
    started = time.monotonic()
    done = as_tasks(two, "one")
    assert failed(done).keys() == {"adapt"} and "CON-101: target away: " in failed(done)["adapt"]
    assert time.monotonic() - started < 3 + 2 * AGAIN_SECONDS + 5


def test_how_long_a_server_has(black_hole: str) -> None:
    assert CONNECT_SECONDS <= 10
    started = time.monotonic()
    with pytest.raises(Unreachable, match="CON-101"):
        connect(f"{black_hole}?connect_timeout=2")
    assert 1.5 < time.monotonic() - started < 6


def test_news_of_the_others(two: Replica, past: str) -> None:
    """What is told of the one that is away stays as it was told."""
    channel = load_channel(two.file)
    first = flow.new_events(channel)
    assert first.data and first.schema
    edit(two.file, past, DEAD)
    two.at_source("insert into t values (2, 'b')", "alter table t add n int")
    assert failed(as_tasks(two, "one")).keys() == {"adapt"}
    told = flow.new_events(load_channel(two.file), first.data, first.schema, run_id="one")
    assert told.data and told.schema
    assert told.data["targets"]["away"] == first.data["targets"]["away"]
    assert told.schema["targets"]["away"] == first.schema["targets"]["away"]
    assert {one["target"] for one in told.schema["changed"]} == {"well"}
    assert told.status["targets"]["away"]["unreachable"]
    with pytest.raises(Unreachable, match="CON-101: target away: "):
        flow.new_events(load_channel(two.file), first.data, first.schema, run_id="another")


def test_a_refresh_beside_other_runs_fails_too(two: Replica, past: str) -> None:
    """The targets that answer are loaded; it must not end well while another one is away."""
    edit(two.file, past, DEAD)
    ask(two.target, "delete from t returning id")
    with flow.open_channel(two.file, InProcess()) as run, pytest.raises(Unreachable, match="CON-101: target away: "):
        flow.refresh_isolated(run, ["public.t"])
    assert ask(two.target, "select count(*) from t") == [(1,)]
    with pytest.raises(Unreachable, match="CON-101: target away: "):
        flow.do_here(load_channel(two.file), "refresh_isolated", "one")
