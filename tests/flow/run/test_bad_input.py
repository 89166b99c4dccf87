"""Wrong passwords, dead servers, typos, two runs at once: a clear error each, and the next run goes on."""

from __future__ import annotations

import signal
import socket
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError, Exit
from airflow_ddlrepl.ports.work import InProcess
from tests.support.crashing import pause, start, wake
from tests.support.refusing import ask, edit, in_shell, new_replica, refused, with_password
from tests.support.replica import Replica


@pytest.fixture
def replica(databases: Any, tmp_path: Path) -> Replica:
    made = new_replica(databases, tmp_path)
    made.activate()
    made.at_source("insert into t values (2, 'two')")
    return made


@pytest.mark.parametrize("side", ["source", "target"])
def test_wrong_password(replica: Replica, side: str, capsys: pytest.CaptureFixture[str]) -> None:
    url = getattr(replica, side)
    wrong = with_password(url, "wrong-geheim")
    edit(replica.file, url, wrong)
    error = refused(replica, "replicate", "CON-102", Exit.UNREACHABLE)
    assert "refuses the login" in error.message and "check user and password" in error.hint
    code, said = in_shell(capsys, "status", str(replica.file))
    assert code == Exit.UNREACHABLE and "CON-102" in said and "hint:" in said and "wrong-geheim" not in said
    edit(replica.file, wrong, url)
    replica.settle()


@pytest.mark.parametrize("side", ["source", "target"])
def test_server_down(replica: Replica, side: str) -> None:
    url = getattr(replica, side)
    place = url.split("@")[1].split("/")[0]
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        nowhere = url.replace(place, f"127.0.0.1:{unused.getsockname()[1]}")
        edit(replica.file, url, nowhere)
        error = refused(replica, "replicate", "CON-101", Exit.UNREACHABLE)
    assert error.retryable == (side == "source"), "the next run looks for a target again: the others do not wait"
    assert "does not answer" in error.message
    edit(replica.file, nowhere, url)
    replica.settle()


class Cuts:
    """Ends every other connection to a database before the first task runs, as a restart of its server does."""

    parallelism = 1

    def __init__(self, url: str) -> None:
        self.url = url

    def map(self, task: Any, items: Sequence[Any], label: str, size: int | None = None) -> list[Any]:
        ask(
            self.url,
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()",
        )
        return [task(item) for item in items]


@pytest.mark.req("XR-09")
def test_connections_that_break_in_the_middle(replica: Replica) -> None:
    with flow.open_channel(replica.file, Cuts(replica.source)) as cycle, pytest.raises(DdlReplError) as caught:
        flow.replicate(cycle)
    assert caught.value.code == "CON-104" and caught.value.retryable
    replica.settle()


def test_typo_in_the_channel_file_names_file_and_line(replica: Replica, capsys: pytest.CaptureFixture[str]) -> None:
    edit(replica.file, "adapt_ddl:", "adapt_dll:")
    line = 1 + replica.file.read_text().splitlines().index("adapt_dll:")
    code, said = in_shell(capsys, "replicate", str(replica.file))
    assert code == Exit.USAGE
    assert f"{replica.file}:{line}" in said and "adapt_dll" in said
    edit(replica.file, "adapt_dll:", "adapt_ddl:")
    replica.settle()


def test_a_channel_that_was_never_activated(databases: Any, tmp_path: Path) -> None:
    replica = new_replica(databases, tmp_path)
    error = refused(replica, "replicate", "CFG-130", Exit.USAGE)
    assert f"is not activated in repository sqlite:///{tmp_path}/" in error.message
    assert "ddlrepl activate" in error.hint and "DDLREPL_HOME" in error.hint
    replica.activate()
    replica.check_equal()


def test_two_runs_at_once(replica: Replica) -> None:
    """The second is refused and says who holds the channel; a dead holder holds nothing."""
    first = pause("replicate", replica.file, "integrate.staged")
    error = refused(replica, "replicate", "LCK-101")
    assert error.retryable and f"(process {first.pid}), replicate since" in error.message
    first.kill()
    first.join()
    replica.settle()


@pytest.mark.req("XR-09")
@pytest.mark.parametrize("point", ["capture.files", "integrate.staged", "refresh.loaded"])
def test_a_run_that_slept_too_long_can_write_nothing(databases: Any, tmp_path: Path, point: str) -> None:
    """Its lease ran out and another run has taken over: fenced at repository and target alike."""
    replica = new_replica(databases, tmp_path, lock={"lease_seconds": 5})
    replica.activate()
    replica.at_source(
        "create table k (what text)",
        "insert into k values ('once'), ('once')",
        "alter table t add column u uuid default gen_random_uuid()",
    )
    slept = pause("replicate", replica.file, point)
    time.sleep(5.5)
    replica.settle()
    replica.at_source("insert into k values ('later')")
    before = ask(replica.target, "select lsn, token from ddlrepl.position")
    assert wake(slept) == 1
    assert ask(replica.target, "select lsn, token from ddlrepl.position") == before
    with flow.open_channel(replica.file, InProcess()) as cycle:
        assert [e.code for e in cycle.repository.errors("shop")] == ["LCK-102"]
    replica.settle()


@pytest.mark.req("XR-09")
def test_a_terminated_run_gives_the_channel_back(replica: Replica) -> None:
    run = pause("replicate", replica.file, "integrate.staged")
    run.terminate()
    assert wake(run) == -signal.SIGTERM
    replica.settle()


def test_many_runs_at_once_leave_one_result(replica: Replica) -> None:
    replica.at_source("create table k (n int)", "insert into k select generate_series(1, 100)")
    runs = [start("replicate", replica.file) for _ in range(3)]
    for run in runs:
        run.join(60)
    assert 0 in [run.exitcode for run in runs]
    replica.settle()


def test_repository_of_another_version(replica: Replica) -> None:
    database = replica.file.parent / "repository.db"

    def stamp(version: str) -> str:
        with sqlite3.connect(database) as connection:
            ((before,),) = connection.execute("select version_num from alembic_version")
            connection.execute("update alembic_version set version_num = ?", [version])
        return str(before)

    ours = stamp("9999")
    with pytest.raises(DdlReplError) as caught:
        replica.replicate()
    assert caught.value.code == "REP-101" and "newer version" in caught.value.message and caught.value.hint
    stamp(ours)
    replica.settle()
