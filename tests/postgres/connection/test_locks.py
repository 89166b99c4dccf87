"""Locks: nobody's query waits behind us for long, and the source's writers never wait at all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.postgres.connection import lock_retry
from airflow_ddlrepl.errors import TargetError
from airflow_ddlrepl.ports.work import InProcess
from tests.support.refusing import ask
from tests.support.replica import Replica, channel_file

START = (
    "create table t (id int primary key, v text)",
    "insert into t select i, 'v' || i from generate_series(1, 50) i",
)
OURS = """
SELECT DISTINCT l.mode FROM pg_locks l JOIN pg_stat_activity a USING (pid) JOIN pg_class c ON c.oid = l.relation
WHERE a.datname = current_database() AND a.application_name ~ '^ddlrepl' AND a.pid <> pg_backend_pid()
  AND c.relnamespace = 'public'::regnamespace
"""
REPORT = "/* the monthly report */ select count(*) from t"


@pytest.fixture
def replica(databases: Any, tmp_path: Path) -> Replica:
    target = {"name": "warehouse", "location": databases.target, "lock_timeout": "1s"}
    file = channel_file(tmp_path, databases.source, databases.target, targets=[target])
    made = Replica(databases.source, databases.target, file)
    made.at_source(*START)
    made.activate()
    return made


@contextmanager
def long_query(dsn: str) -> Iterator[int]:
    """A transaction that has read the table and stays open; the process at the server."""
    with psycopg.connect(dsn, application_name="monthly") as reader:
        reader.execute(REPORT)
        yield reader.info.backend_pid


CASES = {
    "an ALTER": ("alter table t add column n int default 4", "update t set n = 5 where id = 1"),
    "a swap": ("alter table t alter v type int using substr(v, 2)::int + 1",),
    "a TRUNCATE": ("truncate t", "insert into t values (1, 'again')"),
}


@pytest.mark.parametrize("statements", CASES.values(), ids=CASES)
def test_a_change_steps_back_and_says_who_is_in_the_way(
    replica: Replica, monkeypatch: pytest.MonkeyPatch, statements: Sequence[str]
) -> None:
    monkeypatch.setattr(lock_retry, "ATTEMPTS", 2)
    replica.at_source(*statements)
    before = replica.rows("table t")
    with long_query(replica.target) as pid:
        with pytest.raises(TargetError) as caught:
            replica.replicate()
        assert replica.rows("table t") == before
    error = caught.value
    assert error.code == "TGT-110" and error.retryable
    assert f"process {pid} " in error.message and "'monthly'" in error.message and REPORT in error.message
    assert f"pg_terminate_backend({pid})" in error.hint and "lock_timeout" in error.hint
    replica.settle()


def test_other_readers_wait_no_longer_than_the_lock_timeout(replica: Replica) -> None:
    """Queued behind our waiting ALTER, readers get through each time that it steps back; at last it gets through."""
    replica.at_source("alter table t add column n int default 4")
    failed: list[BaseException] = []

    def run() -> None:
        try:
            replica.replicate()
        except BaseException as error:
            failed.append(error)

    with long_query(replica.target):
        thread = threading.Thread(target=run)
        thread.start()
        until(lambda: ask(replica.target, f"select 1 from pg_locks where not granted and relation = {_id(replica)}"))
        with psycopg.connect(replica.target) as other:
            other.execute("set lock_timeout = '4s'")  # far longer than ours, far shorter than all our tries
            assert other.execute("select count(*) from t").fetchone() == (50,)
    thread.join(60)
    assert failed == []
    replica.check_equal()


def _id(replica: Replica) -> int:
    return int(replica.rows("select 't'::regclass::oid::bigint")[0][0])


def until(happens: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 60
    while not happens():
        assert time.monotonic() < deadline, "it never happens"
        time.sleep(0.02)


class Looks:
    """Runs tasks in this process and looks at our locks at the source while they run."""

    parallelism = 2

    def __init__(self, source: str) -> None:
        self.source = source
        self.modes: set[str] = set()
        self.stages: set[str] = set()

    def map(self, task: Callable[[Any], Any], items: Sequence[Any], label: str, size: int | None = None) -> list[Any]:
        self.stages.add(label)
        end = threading.Event()
        watch = threading.Thread(target=self._watch, args=(end,))
        watch.start()
        try:
            return [task(item) for item in items]
        finally:
            end.set()
            watch.join()

    def _watch(self, end: threading.Event) -> None:
        with psycopg.connect(self.source, autocommit=True, application_name="watch") as session:
            while True:
                self.modes |= {mode for (mode,) in session.execute(OURS).fetchall()}
                if end.wait(0.002):
                    return


def test_the_sources_writers_never_wait(replica: Replica) -> None:
    """Capture and refresh run while somebody holds the strongest lock that lets readers in."""
    replica.at_source(
        "create table k (what text)",
        "insert into k select 'twice' from generate_series(1, 20000)",
        "alter table t alter v type int using substr(v, 2)::int + 1",
        "delete from t where id = 1",
        "insert into t select i, i from generate_series(100, 20000) i",
    )
    looks = Looks(replica.source)
    with psycopg.connect(replica.source) as writer:
        writer.execute("lock table t, k in exclusive mode")
        writer.execute("insert into t values (1000000, 1)")
        with flow.open_channel(replica.file, looks) as run:
            flow.capture(run)
            flow.adapt(run)
            flow.refresh(run)
            flow.integrate(run)
    assert {"capture", "refresh"} <= looks.stages
    assert looks.modes == {"AccessShareLock"}
    replica.settle()


def test_a_refresh_asked_for_while_the_source_is_written_to(replica: Replica) -> None:
    """The snapshot's locks let writers go on: rows that they commit in the middle arrive once."""
    looks = Looks(replica.source)
    with psycopg.connect(replica.source) as writer:
        writer.execute("lock table t in exclusive mode")
        writer.execute("update t set v = 'mine' where id <= 10")
        with flow.open_channel(replica.file, looks) as run:
            assert flow.refresh(run, ["*.*"]).tables
    assert looks.modes <= {"AccessShareLock"}
    with flow.open_channel(replica.file, InProcess()) as run:
        flow.replicate(run)
    replica.check_equal()


def test_a_table_of_nobodys_channel_that_is_locked_is_in_nobodys_way(databases: Any, tmp_path: Path) -> None:
    file = channel_file(tmp_path, databases.source, databases.target, source={"tables": ["public.*"]})
    replica = Replica(databases.source, databases.target, file)
    replica.at_source(*START, "create schema elsewhere", "create table elsewhere.x (id int default 1)")
    replica.activate()
    with psycopg.connect(replica.source) as holder:
        holder.execute("lock table elsewhere.x in access exclusive mode")
        for work in (replica.activate, replica.check_equal):
            done: list[Any] = []
            thread = threading.Thread(target=lambda work=work, done=done: done.append(work()), daemon=True)
            thread.start()
            thread.join(60)
            assert len(done) == 1
