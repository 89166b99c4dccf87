"""Transactions of an apply client with `parallelism` are applied side by side, and end as one after the other."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from airflow_ddlrepl.engines.abilities.lcr_target import NotTogether
from airflow_ddlrepl.flow.streams.apply_process.parallel_apply import apply_wave, in_parts, touched_rows, waves
from airflow_ddlrepl.streams.apply_message import ApplyMessage
from airflow_ddlrepl.streams.messages import RowLcr
from tests.flow.streams.apply_process.apply_client import ApplyClient, transactions
from tests.flow.streams.apply_process.test_apply_feed import GOES_ON, HANDLER, TABLE, rows, t
from tests.postgres.apply_lcrs.applying import ask, ddl, delete, insert, update
from tests.support.replica import run

PARALLEL = {"set_parameter": {"apply_name": "apply_hr", "parameter": "parallelism", "value": 4}}


@pytest.fixture
def target(databases: Any) -> str:
    run(databases.target, *TABLE)
    return str(databases.target)


@pytest.mark.req("ST-X-78")
def test_handlers_of_several_transactions_run_at_the_same_time(target: str) -> None:
    together = threading.Barrier(4, timeout=30)

    def handler(lcr: RowLcr, apply: Any) -> None:
        together.wait()
        apply.execute(lcr)
        apply.sql("UPDATE hr.t SET note = note || '!' WHERE id = %s", int(lcr.new["id"]))

    client = ApplyClient(target, (PARALLEL, HANDLER), {"handler": handler})
    done = client.run(transactions(*([t(n)] for n in range(8))))
    assert done.transactions == 8
    assert rows(target) == [(n, "x!") for n in range(8)]
    assert client.position == 171


def test_transactions_of_the_same_rows_keep_their_order(target: str) -> None:
    changes = [[t(n)] for n in range(5)]
    changes += [[update("hr.t", {"id": str(n % 5)}, {"note": str(n)})] for n in range(40)]
    changes += [[delete("hr.t", id="0")], [t(0, "again")]]
    ApplyClient(target, (PARALLEL,)).run(transactions(*changes))
    assert rows(target) == [(0, "again"), (1, "36"), (2, "37"), (3, "38"), (4, "39")]


def test_each_session_applies_a_part_of_what_has_no_row_in_common(target: str) -> None:
    client = ApplyClient(target, (PARALLEL, GOES_ON))
    run(target, "INSERT INTO hr.t VALUES (21, 0, 'theirs')")
    done = client.run(transactions(*([t(n)] for n in range(40))))
    assert (done.transactions, done.failed, client.position) == (39, 1, 491)
    assert [number for number, _ in rows(target)] == [*range(40)]
    together = "SELECT count(DISTINCT xmin::text) FROM hr.t WHERE id BETWEEN %s AND %s"
    assert [ask(target, together % (low, low + 9)) for low in (0, 10, 30)] == [[(1,)]] * 3


def test_one_that_fails_keeps_only_those_behind_it_from_committing() -> None:
    """Also where it fails before any other is ready."""
    failed = threading.Event()
    committed: list[int] = []

    class Session:
        def run_beside(self, work: Any, last: Any) -> None:
            work(None)
            last(None)

    def work(_: Any, place: int) -> None:
        if place == 2:
            failed.set()
            raise NotTogether
        assert failed.wait(30)

    sessions: Any = [Session() for _ in range(4)]
    assert apply_wave(sessions, range(4), work, lambda _, place: committed.append(place)) == 2
    assert committed == [0, 1]


def test_parts_have_about_as_many_transactions_each() -> None:
    assert in_parts([*range(10)], 4) == [[0, 1], [2, 3, 4], [5, 6], [7, 8, 9]]
    assert in_parts([1], 4) == [[1]]


def test_one_that_fails_is_queued_and_those_behind_it_go_on(target: str) -> None:
    client = ApplyClient(target, (PARALLEL, GOES_ON))
    run(target, "INSERT INTO hr.t VALUES (2, 0, 'theirs')")
    done = client.run(transactions(*([t(n)] for n in range(8))))
    assert (done.transactions, done.failed) == (7, 1)
    assert [number for number, _ in rows(target)] == [*range(8)]
    assert client.waiting == [(1, "23505", 0)]


def test_transactions_in_each_others_way_are_applied_one_by_one(target: str) -> None:
    """The later one has the value that the earlier one gives up: the keys do not show it."""
    run(target, "CREATE UNIQUE INDEX ON hr.t (note)", "INSERT INTO hr.t VALUES (1, 0, 'taken')")
    client = ApplyClient(target, (PARALLEL,))
    client.run(transactions([update("hr.t", {"id": "1"}, {"note": "free"})], [t(2, "taken")], [t(3, "y")]))
    assert rows(target) == [(1, "free"), (2, "taken"), (3, "y")]


def test_which_transactions_touch_no_row_in_common() -> None:
    def of(*lcrs: Any) -> list[ApplyMessage]:
        return [ApplyMessage(one, ("id",)) for one in lcrs]

    moves = update("hr.t", {"id": "1"}, {"id": "2"})
    queue = [
        of(t(1)),
        of(t(3)),
        of(moves),
        of(t(4)),
        of(ddl("ALTER TABLE", "hr.t", "")),
        of(t(5)),
        of(insert("hr.t", a="x")),
    ]
    assert [len(wave) for wave in waves(queue, 4, lambda one: one)] == [2, 2, 1, 1, 1]
    assert [len(wave) for wave in waves([of(t(n)) for n in range(5)], 2, lambda one: one)] == [2, 2, 1]
    assert touched_rows(of(moves)) == {(("hr", "t"), ("1",)), (("hr", "t"), ("2",))}
