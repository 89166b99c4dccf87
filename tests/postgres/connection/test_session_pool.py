"""Sessions that are used again: as good as new, whatever was done with them, and none that something happened to."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.postgres.connection.connect import connect, session
from airflow_ddlrepl.engines.postgres.connection.pool import MOST_IDLE, reusing
from airflow_ddlrepl.engines.postgres.sessions.session_names import end_earlier, session_name
from airflow_ddlrepl.engines.postgres.target import state
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Replica, channel_file

SETTINGS = (
    "search_path", "lock_timeout", "application_name", "role", "session_replication_role", "synchronous_commit",
    "datestyle", "statement_timeout", "session_authorization", "default_transaction_read_only", "work_mem",
)  # fmt: skip
LEFT = (
    "SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'",
    "SELECT count(*) FROM pg_class WHERE relpersistence = 't' AND pg_table_is_visible(oid)",
    "SELECT count(*) FROM pg_cursors WHERE is_holdable",
)


def asked(connection: Any, query: str) -> Any:
    return connection.execute(query).fetchone()[0]


def pid(connection: Any) -> int:
    return int(asked(connection, "SELECT pg_backend_pid()"))


def settings(connection: Any) -> list[str]:
    return [asked(connection, f"SELECT current_setting('{name}')") for name in SETTINGS]


@pytest.fixture
def role(databases: Any) -> Iterator[str]:
    name = f"lesser_{databases.source.rpartition('/')[2]}"
    databases.server.create_role(name)
    yield name
    with connect(databases.server.dsn()) as connection:
        connection.execute(f"DROP ROLE {name}".encode())


def test_what_was_done_with_a_session_is_gone(databases: Any, role: str) -> None:
    """A trigger of somebody's, which ran in it, may have left whatever it liked."""
    with session(databases.source, application_name="ddlrepl new") as new:
        wanted = settings(new)
    with reusing():
        with session(databases.source, autocommit=False, application_name="ddlrepl first") as first:
            there = pid(first)
            first.execute("SET search_path = public; SET lock_timeout = '1s'; SET synchronous_commit = off")
            first.execute("SET session_replication_role = replica; SET work_mem = '1MB'")
            first.execute("SET default_transaction_read_only = on; SET statement_timeout = '1s'")
            first.execute("SELECT pg_advisory_lock(1)")
            first.execute("CREATE TEMP TABLE position (channel text)")
            first.execute("DECLARE held CURSOR WITH HOLD FOR SELECT 1")
            first.execute(f"SET SESSION AUTHORIZATION {role}".encode())
            first.commit()
            first.execute(f"SET ROLE {role}".encode())
        with session(databases.source, application_name="ddlrepl new") as second:
            assert pid(second) == there
            assert settings(second) == wanted
            assert [asked(second, query) for query in LEFT] == [0] * len(LEFT)
            assert second.autocommit


def test_statements_that_ask_for_it_stay_prepared(databases: Any) -> None:
    """Others never are: one about a table would fail once its columns have other types."""
    pids = set()
    with reusing():
        for turn in range(4):
            with session(databases.source) as one:
                pids.add(pid(one))
                for number in range(12):
                    assert one.execute("SELECT %s::int", [number]).fetchone() == (number,)
                    assert one.execute("SELECT %s::int + 1", [number], prepare=True).fetchone() == (number + 1,)
                prepared = one.execute("SELECT generic_plans + custom_plans FROM pg_prepared_statements").fetchall()
                assert prepared == [(12 * (turn % 2 + 1),)]
                if turn % 2:  # the driver prepares all again, for a statement may be about what was dropped
                    one.execute("CREATE TABLE public.t (a int)")
                    one.execute("DROP TABLE public.t")
    assert len(pids) == 1


def test_one_that_is_in_a_transaction_or_met_an_error_is_not_used_again(databases: Any) -> None:
    with reusing():
        with pytest.raises(ZeroDivisionError), session(databases.source, autocommit=False) as first:
            there = pid(first)
            first.execute("CREATE TABLE public.undone ()")
            raise ZeroDivisionError
        second = session(databases.source, autocommit=False)
        assert (old := pid(second)) != there
        second.execute("CREATE TABLE public.undone ()")
        second.close()
        assert second.closed
        with session(databases.source) as third:
            assert pid(third) != old
            assert asked(third, "SELECT to_regclass('public.undone') IS NULL")


def test_one_that_was_ended_while_it_was_idle_is_not_used_again(databases: Any) -> None:
    with reusing(), connect(databases.source) as other:
        with session(databases.source) as first:
            there = pid(first)
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [there])
        with session(databases.source) as second:
            assert pid(second) != there


def test_none_is_kept_where_nobody_wants_it(databases: Any) -> None:
    def pids() -> list[int]:
        with connect(databases.source) as other:
            query = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            for _ in range(100):  # a backend that was told goodbye takes its time
                found = [row[0] for row in other.execute(query)]
                if not found:
                    break
                other.execute("SELECT pg_sleep(0.05), pg_stat_clear_snapshot()")
            return found

    with session(databases.source):
        pass
    assert not pids()
    with reusing():
        with reusing():
            every = [session(databases.source) for _ in range(MOST_IDLE + 2)]
            for one in every:
                one.close()
                one.close()
        assert len(pids()) == MOST_IDLE
    assert not pids()


def test_each_is_used_by_one_at_a_time(databases: Any) -> None:
    def use(number: int) -> int:
        with session(databases.source) as one:
            return int(asked(one, f"SELECT {number} FROM pg_sleep(0.01)"))

    with reusing(), ThreadPoolExecutor(6) as pool:
        assert list(pool.map(use, range(60))) == list(range(60))


def test_a_location_has_its_own(databases: Any, role: str) -> None:
    with reusing():
        with session(databases.source) as first:
            there = pid(first)
        with session(databases.source.replace("postgres:", f"{role}:")) as other:
            assert pid(other) != there
            assert asked(other, "SELECT current_user") == role
        with session(databases.target) as elsewhere:
            assert asked(elsewhere, "SELECT current_database()") == databases.target.rpartition("/")[2]


def test_a_session_of_an_earlier_run_that_is_used_again_is_ended_under_its_new_name(databases: Any) -> None:
    """What a run has kept idle does nothing and is left alone; what it works with is known by its token."""
    with session(databases.target) as target, reusing():
        state.prepare(target, "shop", Position(1), 1, 1)
        with session(databases.target, application_name=session_name("refresh", "shop", 3)) as first:
            there = pid(first)
        with session(databases.target, application_name=session_name("integrate", "shop", 1)) as second:
            assert pid(second) == there
            end_earlier(target, "shop", 2)
            with pytest.raises(psycopg.OperationalError):
                second.execute("SELECT 1")


def test_a_run_uses_its_own_again(databases: Any, tmp_path: Path) -> None:
    """And closes them all: its databases can be dropped."""
    file = channel_file(tmp_path, databases.source, databases.target)
    replica = Replica(databases.source, databases.target, file)
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    with flow.open_channel(file, InProcess()) as run:
        flow.activate(run)
        names = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name ~ '^ddlrepl'"
        with connect(databases.target) as other:
            kept = {row[0] for row in other.execute(names)}
            replica.at_source("INSERT INTO t VALUES (2)", "ALTER TABLE t ADD a int DEFAULT 7")
            flow.replicate(run)
            assert {row[0] for row in other.execute(names)} <= kept
    replica.check_equal()
    with connect(databases.server.dsn()) as server:
        server.execute(f"ALTER DATABASE {databases.target.rpartition('/')[2]} RENAME TO {tmp_path.name}_free".encode())
        server.execute(f"DROP DATABASE {tmp_path.name}_free".encode())
        server.execute(f"CREATE DATABASE {databases.target.rpartition('/')[2]}".encode())


def test_the_end_of_a_run_asks_the_server_nothing(
    databases: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be gone, and would be waited for; nobody wants the session to be as good as new any more."""
    file = channel_file(tmp_path, databases.source, databases.target)
    executed: list[object] = []
    with flow.open_channel(file, InProcess()) as run:
        target: Any = run.target("warehouse")
        monkeypatch.setattr(type(target.connection), "execute", lambda _, query, *more: executed.append(query))
    assert (target.is_closed, executed) == (True, [])
