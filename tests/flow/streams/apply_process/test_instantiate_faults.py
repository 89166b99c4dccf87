"""No row is lost and none comes twice, whoever writes while tables come to the target, and whatever is killed when."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.postgres.source import exported_snapshot
from airflow_ddlrepl.errors import ApplyError, BlockedByOthers, UnreadableTable
from tests.flow.streams.apply_process.test_instantiate import RULES, TABLES, begun, cycle, loaded
from tests.flow.streams.streams_channel import APPLY
from tests.postgres.apply_lcrs.applying import ask
from tests.support.crashing import die

ROWS = {"add_schema_rules": {"schema_name": "hr", **APPLY}}
BOTH_TABLES = (
    "CREATE TABLE hr.u (id int PRIMARY KEY, k int)",
    "INSERT INTO hr.u SELECT n, n FROM generate_series(1, 300) n",
)


def require_equal(databases: Any, *tables: str) -> None:
    for table in tables:
        query = f"TABLE {table} ORDER BY 1"
        assert ask(databases.target, query) == ask(databases.source, query), table


@pytest.mark.parametrize("point", ["instantiate.copied", "instantiate.copied:2", "instantiate.committed"])
def test_a_run_that_is_killed_is_made_up_for_by_the_next(point: str, databases: Any, tmp_path: Path) -> None:
    channel = begun(tmp_path, databases, RULES, at_source=(*TABLES, *BOTH_TABLES))
    die("instantiate", channel.file, point, "site2")
    done = 0 if point == "instantiate.copied" else 1
    there = "SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace('hr') AND relkind = 'r'"
    assert ask(databases.target, there) == [(done,)]
    channel.at_source("DELETE FROM hr.t WHERE id = 1", "DELETE FROM hr.u WHERE id = 1", "INSERT INTO hr.u VALUES (0)")
    assert len(loaded(channel).rows) == 2 - done
    cycle(channel, "UPDATE hr.t SET k = 5", "UPDATE hr.u SET k = 5")
    require_equal(databases, "hr.t", "hr.u")


@contextmanager
def writers(dsn: str, count: int) -> Iterator[None]:
    """Sessions that insert, update and delete rows of hr.u, each in its own range of keys."""
    ended = threading.Event()

    def write(first: int) -> None:
        rng, known = random.Random(first), list[int]()
        with psycopg.connect(dsn, autocommit=True) as connection:
            for number in range(first, 1 << 30, count):
                if ended.is_set():
                    return
                with connection.transaction():
                    connection.execute("INSERT INTO hr.u VALUES (%s, 0)", [number])
                    known.append(number)
                    one = rng.choice(known)
                    connection.execute("UPDATE hr.u SET k = k + 1 WHERE id = %s", [one])
                    if rng.random() < 0.3:
                        known.remove(one)
                        connection.execute("DELETE FROM hr.u WHERE id = %s", [one])

    threads = [threading.Thread(target=write, args=(1000 + n,)) for n in range(count)]
    for one in threads:
        one.start()
    try:
        yield
    finally:
        ended.set()
        for one in threads:
            one.join()


def test_writers_go_on_while_their_table_is_loaded(databases: Any, tmp_path: Path) -> None:
    channel = begun(tmp_path, databases, RULES, at_source=(*TABLES, *BOTH_TABLES))
    with writers(databases.source, 3):
        channel.stage(flow.capture)
        assert loaded(channel).rows["hr.u"] >= 300
        channel.stage(flow.capture)
        channel.stage(flow.apply)
    cycle(channel)
    require_equal(databases, "hr.t", "hr.u")


def test_a_large_table_comes_in_pieces(databases: Any, tmp_path: Path) -> None:
    many = "INSERT INTO hr.u SELECT n, n FROM generate_series(1000, 200000) n"
    channel = begun(tmp_path, databases, RULES, at_source=(*TABLES, *BOTH_TABLES, many))
    assert loaded(channel).rows["hr.u"] == 199301
    query = "SELECT count(*), sum(id), sum(k) FROM hr.u"
    assert ask(databases.target, query) == ask(databases.source, query)


def test_a_table_that_can_not_be_read_stops_no_other(databases: Any, tmp_path: Path) -> None:
    damaged = (
        "CREATE TABLE hr.a (id int PRIMARY KEY, v text); ALTER TABLE hr.a ALTER v SET STORAGE EXTERNAL",
        "CREATE TABLE hr.spare (v text)",
        "INSERT INTO hr.a VALUES (1, repeat('x', 10000))",
    )
    channel = begun(tmp_path, databases, RULES, at_source=(*TABLES, *BOTH_TABLES, *damaged))
    toast = "(SELECT reltoastrelid FROM pg_class WHERE oid = 'hr.{}'::regclass)"
    ((own,),) = ask(databases.source, f"SELECT relfilenode::bigint FROM pg_class WHERE oid = {toast.format('a')}")
    ((other,),) = ask(databases.source, f"SELECT relfilenode::bigint FROM pg_class WHERE oid = {toast.format('spare')}")
    files = f"SET allow_system_table_mods = on; UPDATE pg_class SET relfilenode = {{}} WHERE oid = {toast.format('a')}"
    channel.at_source(files.format(other))
    with pytest.raises(UnreadableTable, match="SRC-170") as caught:
        loaded(channel)
    assert caught.value.table == "hr.a"
    require_equal(databases, "hr.t", "hr.u")
    channel.at_source(files.format(own))
    assert {name for name in loaded(channel).rows if name == "hr.a"} == {"hr.a"}
    require_equal(databases, "hr.a", "hr.t", "hr.u")


def test_while_a_transaction_keeps_a_new_table_from_its_load_the_others_get_their_changes(
    databases: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = begun(tmp_path, databases, ROWS, at_source=(*TABLES, *BOTH_TABLES))
    loaded(channel)
    impatient = partial(exported_snapshot.snapshot_at_position, timeout=0.3)
    monkeypatch.setattr(exported_snapshot, "snapshot_at_position", impatient)
    with psycopg.connect(databases.source) as other:
        other.execute("CREATE TABLE open_still (id int)")
        channel.at_source("CREATE TABLE hr.late (id int PRIMARY KEY)", "INSERT INTO hr.late VALUES (1)")
        channel.at_source("INSERT INTO hr.t VALUES (901, 1)")
        with pytest.raises(BlockedByOthers, match="SRC-110"):
            channel.stage(flow.replicate)
    require_equal(databases, "hr.t", "hr.u")
    channel.at_source("INSERT INTO hr.late VALUES (2)", "DELETE FROM hr.late WHERE id = 1")
    channel.stage(flow.replicate)
    require_equal(databases, "hr.late", "hr.t", "hr.u")


def test_a_new_table_that_the_target_refuses_keeps_no_other_one_from_its_changes(
    databases: Any, tmp_path: Path
) -> None:
    channel = begun(tmp_path, databases, ROWS, at_source=(*TABLES, *BOTH_TABLES))
    loaded(channel)
    channel.at_source(
        "CREATE FUNCTION hr.f(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1'",
        "CREATE TABLE hr.p (id int, k int) PARTITION BY RANGE (hr.f(k))",
        "CREATE TABLE hr.p1 PARTITION OF hr.p FOR VALUES FROM (0) TO (9)",
        "INSERT INTO hr.p VALUES (1, 1)",
        "INSERT INTO hr.t VALUES (901, 1)",
    )
    with pytest.raises(ApplyError, match="APL-130"):
        channel.stage(flow.replicate)
    require_equal(databases, "hr.t", "hr.u")
