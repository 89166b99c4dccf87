"""Two runs of one channel at once: one works, the others say who holds it; a run that slept writes nothing any more."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.sessions.session_names import end_earlier, session_name
from airflow_ddlrepl.errors import LockHeld
from airflow_ddlrepl.failpoint import FAIL_POINTS
from airflow_ddlrepl.repository.repository import Repository
from tests.conftest import Databases
from tests.support.attempts import SLEPT, Attempt, attempt, stopped_at
from tests.support.crashing import OF_STREAMS
from tests.support.refusing import ask
from tests.support.replica import Replica, lasting

START = (
    "create table orders (id int primary key, note text)",
    "insert into orders select i, 'order ' || i from generate_series(1, 20) i",
    "create table log (what text, n int, marks int[] default '{1}')",  # an array: staged in a table of its own
    "create table rates (id int primary key, rate text)",
    "insert into rates select i, i::text from generate_series(1, 300) i",
)
TRACES = "select what, n, count(*) from log group by 1, 2 order by 1, 2"
RARE = (
    *OF_STREAMS,
    *("keep.", "activate.", "save.", "rewind.", "repair.", "reread.", "roll_back.", "ledger.", "lake."),
    *(
        "capture.published",
        "capture.advanced",
        "capture.inspected",
        "integrate.first_commit",
        "integrate.sequences",
        "isolated.",
        "cutover.",
        "replicate.",
    ),
)
POINTS = [name for name in FAIL_POINTS if not name.startswith(RARE)]
_numbers = count(1)


@pytest.fixture(scope="module")
def replica(pg18: PrivateServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replica]:
    """One channel that lives through everything."""
    with lasting(pg18, tmp_path_factory.mktemp("runs"), "two_runs", START) as found:
        yield found


def work(replica: Replica) -> None:
    """Something for every stage."""
    number = next(_numbers)
    replica.at_source(
        f"insert into log values ('twice', 1), ('twice', 1), ('round', {number})",
        f"alter table orders add column c{number} int default {number}",
        f"alter table rates add column u{number} uuid default gen_random_uuid()",
        "insert into log values ('after', 1)",
    )


def database(replica: Replica) -> Path:
    return replica.file.parent / "repository.db"


def everything(replica: Replica) -> dict[str, Any]:
    """All that a run of the channel can write, but for its entries in the list of errors."""
    relations = "select relname from pg_class where relnamespace = 'ddlrepl'::regnamespace order by 1"
    found: dict[str, Any] = {
        "slot": ask(
            replica.source, "select confirmed_flush_lsn from pg_replication_slots where slot_name = 'two_runs'"
        ),
        "trail": {
            str(p): p.read_bytes() if p.suffix == ".json" else p.stat().st_size
            for p in replica.file.parent.glob("trail/**/*")
            if p.is_file() and p.suffix != ".tmp"
        },
        "position": replica.rows("table ddlrepl.position"),
        "standings": replica.rows("select * from ddlrepl.tables order by table_id"),
        "relations": replica.rows(relations),
        "rows": [replica.rows(f"select * from {name} order by 1, 2") for name in ("orders", "log", "rates")],
    }
    with closing(sqlite3.connect(database(replica))) as connection:
        tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
        found["repository"] = {
            name: sorted(map(repr, connection.execute(f"select * from {name}"))) for name in tables if name != "errors"
        }
    return found


def tell(replica: Replica, statement: str) -> list[tuple[Any, ...]]:
    """Change or ask the repository behind the product's back."""
    with closing(sqlite3.connect(database(replica))) as connection, connection:
        return connection.execute(statement).fetchall()


def lease_runs_out(replica: Replica, slept: Path) -> None:
    """For the repository and for the run that sleeps alike."""
    slept.touch()
    tell(replica, "update locks set lease_until = '2001-01-01 00:00:00.000000'")


@pytest.mark.req("XR-09")
@pytest.mark.parametrize("point", POINTS)
def test_a_run_that_was_taken_over_while_it_slept_writes_nothing(replica: Replica, tmp_path: Path, point: str) -> None:
    work(replica)
    slept = tmp_path / "slept"
    run = stopped_at(point, "replicate", replica.file, {SLEPT: str(slept)})
    lease_runs_out(replica, slept)
    replica.settle()
    before = everything(replica)
    error = run.wake()
    assert error is not None and error.retryable, error
    assert error.code in ("LCK-102", "CON-104", "TGT-120"), error
    assert everything(replica) == before
    assert ask(replica.source, TRACES) == replica.rows(TRACES)


def test_an_activation_waits_for_no_run_that_sleeps_in_its_transaction(replica: Replica, tmp_path: Path) -> None:
    work(replica)
    slept = tmp_path / "slept"
    run = stopped_at("integrate.transaction", "replicate", replica.file, {SLEPT: str(slept)})
    lease_runs_out(replica, slept)
    replica.activate()
    error = run.wake()
    assert error is not None and error.retryable, error
    replica.settle()


def test_who_holds_the_channel_is_told(replica: Replica) -> None:
    """Host, process, since when and what for: to the command line, to a DAG's run and to a backfill."""
    work(replica)
    holder = stopped_at("capture.files", "replicate", replica.file)
    pid = holder.process.pid
    for stage, name in (("capture", "scheduled__2026-11-21"), ("refresh", "backfill__2026-01-01"), ("replicate", "")):
        error = Attempt(stage, replica.file, name).end()
        assert isinstance(error, LockHeld) and error.retryable
        assert re.search(
            rf"locked by \S+@{os.uname().nodename} \(process {pid}\), replicate since 20..-..-..T", str(error)
        )
        assert "at least until 20" in error.message
    shell = subprocess.run(_command(replica), check=False, capture_output=True, text=True)
    assert shell.returncode == 1 and f"(process {pid}), replicate since" in shell.stderr
    assert "LCK-101" in shell.stderr
    assert holder.wake() is None
    replica.settle()


def test_a_command_waits_for_the_other_run_when_it_is_asked_to(replica: Replica) -> None:
    """It says at once for whom, and does its work then."""
    work(replica)
    holder = stopped_at("capture.files", "replicate", replica.file)
    order = [one for one in _command(replica) if one != "--quiet"]
    late = subprocess.run([*order, "--wait", "0.5"], check=False, capture_output=True, text=True)
    assert late.returncode == 1 and "LCK-101" in late.stderr and "`--wait SECONDS`" in late.stderr
    shell = subprocess.Popen([*order, "--wait", "60"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert shell.stderr is not None
    said = next(line for line in shell.stderr if "waits" in line)
    assert f"(process {holder.process.pid}), replicate since" in said
    assert holder.wake() is None
    shell.communicate(timeout=60)
    assert shell.returncode == 0
    replica.settle()


def test_the_run_of_a_dag_is_told_by_its_name(replica: Replica) -> None:
    work(replica)
    holder = Attempt("capture", replica.file, "manual__2026-11-21", {"DDLREPL_FAIL_AT": "capture.files"})
    holder.process.join(60)
    ((told,),) = tell(replica, "select holder from locks")
    assert told.endswith(f"(process {holder.process.pid}), capture of run manual__2026-11-21")
    replica.settle()  # it is dead: nobody waits for it


def test_a_holder_that_died_elsewhere_is_taken_over_after_its_lease(replica: Replica) -> None:
    """Of a process on another machine nobody knows whether it lives: its lease decides."""
    tell(
        replica,
        "update locks set token = token + 1, holder = 'anna@far (process 7), refresh', process = 'far/x/7/1',"
        " since = '2026-11-21 08:00:00.000000', lease_until = '2999-01-01 00:00:00.000000'",
    )
    error = attempt("replicate", replica.file)
    assert isinstance(error, LockHeld) and "anna@far (process 7), refresh since 2026-11-21T08:00:00" in error.message
    tell(replica, "update locks set lease_until = '2026-11-21 08:01:00.000000'")
    replica.settle()


def test_a_command_a_dag_and_a_backfill_at_once_leave_one_result(replica: Replica) -> None:
    """Each runs until it had its turn; every change arrives once."""
    refused = 0
    for number in range(2):
        work(replica)
        shell = subprocess.Popen(_command(replica), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        dag = Attempt("replicate", replica.file, f"scheduled__{number}")
        backfill = Attempt("replicate", replica.file, f"backfill__{number}")
        ends = [dag.end(), backfill.end()]
        _, said = shell.communicate(timeout=120)
        assert shell.returncode == 0 or "LCK-101" in said
        assert all(error is None or isinstance(error, LockHeld) for error in ends), ends
        assert shell.returncode == 0 or None in ends
        refused += sum(error is not None for error in ends)
    replica.settle()
    assert ask(replica.source, TRACES) == replica.rows(TRACES)


def _command(replica: Replica) -> list[str]:
    """`ddlrepl replicate`, as a shell starts it."""
    call = "from airflow_ddlrepl.cli.app import main; main()"
    return [sys.executable, "-c", call, "--quiet", "replicate", str(replica.file), "--json"]


def test_a_second_look_in_one_process_keeps_the_first_ones_locks(replica: Replica) -> None:
    """SQLite's files are spoiled when a process loses its locks on them, which closing any descriptor does."""

    def held() -> int:
        inode = f":{database(replica).stat().st_ino} "
        lines = Path("/proc/locks").read_text().splitlines()
        return sum(inode in line and f" {os.getpid()} " in line for line in lines)

    url = f"sqlite:///{database(replica)}"
    with Repository.open(url) as first:
        first.errors("shop")
        before = held()
        with Repository.open(url) as second:
            second.errors("shop")
            assert held() >= before > 0


def test_sessions_of_a_channel_with_a_long_name_are_known(databases: Databases) -> None:
    """The server keeps 63 bytes of a session's name."""
    long, alike = "c" * 40, "c" * 39 + "d"
    with (
        session(databases.target, application_name=session_name("integrate", long, 123456)) as earlier,
        session(databases.target, application_name=session_name("integrate", long, 123457)) as ours,
        session(databases.target, application_name=session_name("integrate", alike, 1)) as others,
    ):
        end_earlier(ours, long, 123457)
        assert ours.execute("select 1").fetchone() == (1,) == others.execute("select 1").fetchone()
        with pytest.raises(psycopg.OperationalError):
            earlier.execute("select 1")
