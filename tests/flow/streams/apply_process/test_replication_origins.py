"""Each session of an apply process has a replication origin: with few there are few sessions, without one none."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import ApplyError
from airflow_ddlrepl.streams.messages import RowLcr
from tests.flow.streams.apply_process.apply_client import ApplyClient, transactions
from tests.flow.streams.apply_process.test_apply import begun, cycle, rules
from tests.flow.streams.apply_process.test_apply_feed import HANDLER, TABLE, rows, t
from tests.flow.streams.apply_process.test_parallel_apply import PARALLEL
from tests.postgres.apply_lcrs.applying import ask
from tests.support.replica import run

SETTINGS = {18: "max_active_replication_origins", 15: "max_replication_slots"}
UNTAGGED = "SELECT count(*) FROM hr.t WHERE (pg_xact_commit_timestamp_origin(xmin)).roident = 0"
OLD = "SELECT count(*) FROM hr.t WHERE pg_xact_commit_timestamp(xmin) < now() - interval '1 hour'"
"""The server notes no time of commit of its own for a transaction with an origin: without one it is the year 2000."""


@pytest.fixture
def server(private_server: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A server that has two replication origins at a time."""
    version = getattr(request, "param", 18)
    with private_server("target", version, {SETTINGS[version]: "2", "track_commit_timestamp": "on"}) as made:
        yield made


def take(target: str, *names: str) -> None:
    """Somebody else's origins: each is one of those that the server has at a time, until it is dropped."""
    for name in names:
        run(
            target,
            f"SELECT pg_replication_origin_create('{name}')",
            f"SELECT pg_replication_origin_advance('{name}', '0/1')",
        )


@pytest.mark.parametrize("server", [18, 15], indirect=True)
def test_as_many_sessions_apply_as_have_an_origin(server: Any) -> None:
    target = server.create_database("shop")
    run(target, *TABLE)
    together = threading.Barrier(2, timeout=30)

    def handler(lcr: RowLcr, apply: Any) -> None:
        together.wait()
        apply.execute(lcr)

    done = ApplyClient(target, (PARALLEL, HANDLER), {"handler": handler}).run(transactions(*([t(n)] for n in range(8))))
    assert (done.transactions, rows(target)) == (8, [(n, "x") for n in range(8)])
    assert (ask(target, UNTAGGED), ask(target, OLD)) == ([(0,)], [(0,)])
    assert ask(target, "SELECT count(*) FROM pg_replication_origin_status WHERE local_id <> 0") == [(2,)]


@pytest.mark.parametrize("server", [18, 15], indirect=True)
def test_without_an_origin_nothing_is_applied_and_the_error_says_what_to_raise(server: Any) -> None:
    target = server.create_database("shop")
    run(target, *TABLE)
    take(target, "first", "second")
    client = ApplyClient(target, (PARALLEL,))
    with pytest.raises(ApplyError) as raised:
        client.run(transactions([t(1)]))
    assert (raised.value.code, raised.value.retryable) == ("APL-121", True)
    assert f"raise {SETTINGS[server.version]} there and restart" in raised.value.hint
    assert rows(target) == []
    run(target, "SELECT pg_replication_origin_drop('first')")
    assert client.run(transactions([t(1)], [t(2)])).transactions == 2
    assert (rows(target), ask(target, UNTAGGED)) == ([(1, "x"), (2, "x")], [(0,)])


def test_the_run_and_the_status_say_that_fewer_sessions_apply(databases: Any, server: Any, tmp_path: Path) -> None:
    target = server.create_database("shop")
    take(target, "first", "second")
    channel = begun(SimpleNamespace(source=databases.source, target=target), tmp_path, rules("global"), PARALLEL)
    with pytest.raises(ApplyError) as raised:
        cycle(channel, "INSERT INTO hr.t VALUES (1, 1)", "INSERT INTO hr.t VALUES (2, 2)")
    assert (raised.value.code, raised.value.target, raised.value.retryable) == ("APL-121", "site2", True)
    assert ask(target, "SELECT count(*) FROM hr.t") == [(0,)]
    for free, name in ((1, "first"), (2, "second")):
        run(target, f"SELECT pg_replication_origin_drop('{name}')")
        (warning,) = channel.stage(flow.apply).warnings
        assert f"target site2: at most {free} transactions are applied at the same time, not 4" in warning
        assert "raise max_active_replication_origins there" in warning
        status = channel.stage(flow.status)
        assert f"in the last run at most {free} transactions are applied at the same time" in status.text()
    assert (ask(target, "SELECT count(*) FROM hr.t"), ask(target, UNTAGGED)) == ([(2,)], [(0,)])
    run(target, "ALTER SYSTEM SET max_active_replication_origins = 8")
    server.stop()
    server.start()
    assert channel.stage(flow.apply).warnings == ()
    (state,) = channel.stage(flow.status).to_json()["apply"]
    assert state["fewer_sessions"] is None and "in the last run" not in channel.stage(flow.status).text()
