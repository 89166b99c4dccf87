"""Killed at any point, a run leaves nothing that the next one can't mend: nothing is lost, nothing applied twice."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest

from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.failpoint import FAIL_POINTS
from tests.live.crashing import die, kill_after
from tests.live.replica import Replica, channel_file

START = (
    "create table orders (id int primary key, note text)",
    "insert into orders select i, 'order ' || i from generate_series(1, 200) i",
    "create table log (what text, n int)",
    "insert into log select 'twice', i % 5 from generate_series(1, 40) i",
    "create table rates (id int primary key, rate text)",
    "insert into rates select i, i::text from generate_series(1, 300) i",
)
IN_CYCLE = [name for name in FAIL_POINTS if not name.startswith("activate.")]
IN_ACTIVATION = [name for name in FAIL_POINTS if name.startswith(("activate.", "refresh."))]
_numbers = count(1)


def new_replica(server: PrivateServer, folder: Path) -> tuple[Replica, list[str]]:
    number = next(_numbers)
    names = [f"crash_source_{number}", f"crash_target_{number}"]
    source, target = (server.create_database(name) for name in names)
    slot = {"slot": f"crash_{number}"}  # slots are the server's, not the database's
    return Replica(source, target, channel_file(folder, source, target, source=slot)), names


@pytest.fixture(scope="module")
def replica(pg18: PrivateServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replica]:
    """One channel that lives through all the crashes."""
    found, names = new_replica(pg18, tmp_path_factory.mktemp("crash"))
    found.at_source(*START)
    found.activate()
    yield found
    for name in names:
        pg18.drop_database(name)


def work(replica: Replica, number: int) -> None:
    """Rows with and without a key, DDL among them, and a change of type that needs a refresh."""
    replica.at_source(
        f"insert into orders (id, note) values ({number}000, 'new'), ({number}001, 'short-lived')",
        "insert into log values ('twice', 1), ('twice', 1), ('once', 2)",
        "begin; update orders set note = note || '.' where id % 7 = 0; "
        f"alter table orders add column c{number} int default {number}; "
        f"insert into orders (id, note, c{number}) values ({number}002, 'in between', 5); commit",
        "delete from log where ctid = (select min(ctid) from log where what = 'twice')",
        f"delete from orders where id = {number}001",
        f"create table made_{number} (n int)",
        f"insert into made_{number} values (1), (1), (2)",
        f"alter table rates add column u{number} uuid default gen_random_uuid()",
        "update rates set rate = rate || 'x' where id < 10",
    )


def check_traces(replica: Replica) -> None:
    """A row that was applied twice, or not at all, shows where no key hides it; and nothing of ours lies about."""
    query = "select what, n, count(*) from log group by 1, 2 order by 1, 2"
    with psycopg.connect(replica.source) as connection:
        assert connection.execute(query).fetchall() == replica.rows(query)
    left = "select relname from pg_class where relnamespace = 'ddlrepl'::regnamespace and relname ~ '^[rs]_'"
    assert replica.rows(left) == []


@pytest.mark.req("XR-09")
@pytest.mark.parametrize("point", IN_CYCLE)
def test_a_cycle_killed_at_a_fail_point_is_made_good_by_the_next(replica: Replica, point: str) -> None:
    number = next(_numbers)
    work(replica, number)
    die("replicate", replica.file, point)
    replica.at_source(
        "insert into log values ('after the crash', 3)",
        f"update orders set note = 'after' where id = {number}002",
        f"alter table made_{number} add column t text default 'd'",
    )
    replica.settle()
    check_traces(replica)


@pytest.mark.req("XR-09")
@pytest.mark.parametrize("point", IN_ACTIVATION)
def test_a_killed_activation_can_be_done_again(pg18: PrivateServer, tmp_path: Path, point: str) -> None:
    replica, names = new_replica(pg18, tmp_path)
    replica.at_source(*START)
    die("activate", replica.file, point)
    replica.at_source("insert into orders values (1000, 'x')", "alter table log add column at int default 7")
    replica.activate()
    replica.at_source("insert into log values ('late', 1, 2)")
    replica.settle()
    check_traces(replica)
    for name in names:
        pg18.drop_database(name)


@pytest.mark.req("XR-09")
@pytest.mark.parametrize("time", ["first", "second", "third"])
def test_a_cycle_killed_at_any_moment_is_made_good_by_the_next(replica: Replica, time: str) -> None:
    seed = random.SystemRandom().randrange(10**6)
    moments = random.Random(seed)
    for _ in range(2):
        work(replica, next(_numbers))
        seconds = moments.uniform(0.05, 1.5)
        ended = kill_after("replicate", replica.file, seconds)
        print(f"seed {seed}: killed after {seconds:.3f} s, exit code {ended}")
    replica.settle()
    check_traces(replica)
