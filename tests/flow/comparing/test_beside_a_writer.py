"""A comparison beside an application that goes on writing, and beside cycles, finds what really differs and no more."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.compare.report import Kind
from airflow_ddlrepl.engines.postgres.log import preconditions
from airflow_ddlrepl.flow.capture.captured_log import window_of as read_window
from airflow_ddlrepl.flow.comparing.in_flight import settled
from tests.support.replica import BOTH, Make, Replica
from tests.support.small_roles import small_replica

GOODS = (
    "CREATE TABLE goods (id int PRIMARY KEY, name text, price numeric)",
    "INSERT INTO goods SELECT i, 'good ' || i, i FROM generate_series(1, 9000) i",
    "CREATE TABLE still (id int PRIMARY KEY)",
)
WRITES = (
    "UPDATE goods SET price = price + 1 WHERE id BETWEEN 1000 + %(n)s AND 1200 + %(n)s",
    "INSERT INTO goods SELECT i, 'new', i FROM generate_series(10000 + 40 * %(n)s, 10039 + 40 * %(n)s) i",
    "DELETE FROM goods WHERE id BETWEEN 10000 + 40 * %(n)s AND 10009 + 40 * %(n)s",
    "UPDATE goods SET id = -id WHERE id BETWEEN 10020 + 40 * %(n)s AND 10021 + 40 * %(n)s",
)
REAL = [(Kind.MISSING, "(17)"), (Kind.DIFFERENT, "(4000)"), (Kind.EXTRA, "(99999999)")]


@contextmanager
def going_on(work: Any) -> Iterator[None]:
    """Something that another thread does again and again inside the `with`, and once before it."""
    is_over, has_begun = Event(), Event()
    failed: list[BaseException] = []

    def run() -> None:
        try:
            while not is_over.is_set():
                work()
                has_begun.set()
        except BaseException as error:
            failed.append(error)
            has_begun.set()

    thread = Thread(target=run)
    thread.start()
    has_begun.wait()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
    assert not failed, failed


@contextmanager
def written(replica: Replica) -> Iterator[None]:
    number = iter(range(1, 1 << 30))
    with psycopg.connect(replica.source, autocommit=True) as connection:

        def write() -> None:
            n = next(number) % 500
            for statement in WRITES:
                connection.execute(statement, {"n": n})
            if n % 100 == 0:
                connection.execute("DELETE FROM goods WHERE id > 9000 OR id < 0")

        with going_on(write):
            yield


@BOTH
@pytest.mark.parametrize("has_cycles", [False, True], ids=["alone", "with cycles"])
def test_only_what_really_differs_is_found(make: Make, has_cycles: bool) -> None:
    replica = make(*GOODS)
    replica.at_target(
        "DELETE FROM goods WHERE id = 17",
        "UPDATE goods SET name = 'odd' WHERE id = 4000",
        "INSERT INTO goods VALUES (99999999, 'extra', 1)",
    )
    with written(replica):
        found = [replica.compare() for _ in range(2)] if not has_cycles else []
        if has_cycles:
            with going_on(replica.replicate):
                found = [replica.compare() for _ in range(6)]
    for one in found:
        goods = next(table for table in one.tables if table.table.name == "goods")
        assert [(row.kind, row.key) for row in goods.rows] == REAL, one.text()
        assert one.differences == 3 and not goods.undecided, one.text()
    assert any(one.in_flight for one in found)
    replica.replicate()
    last = replica.compare()
    assert (last.differences, last.in_flight) == (3, 0)


def test_a_capture_is_not_in_the_way_of_a_comparison(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is captured after the comparison has looked how far it is: it is read from the trail."""
    replica = make(*GOODS)
    replica.at_target("DELETE FROM goods WHERE id = 17")
    replica.at_source("UPDATE goods SET price = 0 WHERE id < 10")
    captured: list[Any] = []

    def window_of(*args: Any) -> Any:
        if not captured:
            captured.append(replica.capture())
        return read_window(*args)

    monkeypatch.setattr("airflow_ddlrepl.flow.comparing.log_ahead.window_of", window_of)
    found = replica.compare()
    assert captured and (found.differences, found.in_flight, dict(found.undecided)) == (1, 9, {})


def test_nor_is_one_that_moves_the_slot_on_before_it_is_copied(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the copy does not have any more is not taken for log in which nothing happens: it is read from the trail."""
    replica = make(*GOODS)
    replica.at_target("DELETE FROM goods WHERE id = 17")
    replica.at_source("UPDATE goods SET price = 0 WHERE id < 10", "DELETE FROM goods WHERE id > 8990")
    _captured_after_the_look(replica, monkeypatch)
    found = replica.compare()
    assert (found.differences, found.in_flight, dict(found.undecided)) == (1, 19, {}), found.text()


def test_nor_is_a_plan_wrong_beside_a_capture(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    replica = make(*GOODS)
    replica.at_source("ALTER TABLE goods ADD COLUMN n int", "INSERT INTO goods (id) VALUES (10001)")
    _captured_after_the_look(replica, monkeypatch)
    assert "ADD COLUMN" in replica.plan().text()


def _captured_after_the_look(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    """A capture moves the slot on, once, as soon as a task that reads the log has looked where it is."""
    look = preconditions.require_slot
    done: list[Any] = []

    def require_slot(ask: Any, name: str, *at: Any) -> Any:
        found = look(ask, name, *at)
        if not done and inspect.stack()[1].function == "_prepare":
            done.append(name)
            assert replica.capture().rows
        return found

    monkeypatch.setattr(preconditions, "require_slot", require_slot)


def test_a_role_that_can_read_the_log_by_one_session_only(databases: Any, tmp_path: Path) -> None:
    """It would be in a capture's way: which rows are in flight is left open as long as they are not captured."""
    replica = small_replica(databases, tmp_path)
    replica.at_source(*GOODS)
    replica.activate()
    replica.at_source("REVOKE EXECUTE ON FUNCTION pg_copy_logical_replication_slot(name, name, bool) FROM PUBLIC")
    replica.at_source("UPDATE goods SET price = 0 WHERE id < 10")
    found = replica.compare()
    assert not found.is_equal and "SRC-194" in found.undecided["public.goods"]
    replica.capture()
    assert replica.compare().in_flight == 9


def test_cycles_beside_a_comparison_expire_the_log_of_its_time(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which rows were in flight when it began, nobody knows any more: it says so, and what to set."""
    replica = make(*GOODS, retention={"age": 0})
    replica.at_target("DELETE FROM goods WHERE id = 17")
    replica.at_source("UPDATE goods SET price = 0 WHERE id < 10")
    replica.capture()

    def judged(*args: Any) -> Any:
        for _ in range(2):
            replica.replicate()
        return settled(*args)

    monkeypatch.setattr("airflow_ddlrepl.flow.comparing.compare.settled", judged)
    found = replica.compare()
    why = found.undecided["public.goods"]
    assert why.startswith("the log that the target has not applied can't be read: TRL-124: ")
    assert "set `retention` longer than a comparison takes" in why and why in found.text()
    assert (found.differences, found.is_equal) == (0, False)
    monkeypatch.undo()
    assert replica.compare().differences == 1
