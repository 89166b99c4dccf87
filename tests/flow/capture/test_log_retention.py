"""`hold_log`: what the trail has lost is read again from the log that the source holds, and nothing is missing."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.abilities.of_source import RetainsLog
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.engines.postgres.log.retained_slot import held_name
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.ports.work import InProcess
from tests.flow.run.test_bad_trail import flip, truncate
from tests.postgres.log.test_protocol_fallback import FUNCTIONS
from tests.postgres.source.test_rights import Roles, roles
from tests.support.crashing import die
from tests.support.replayable import captured, read
from tests.support.replica import Replica, channel_file

__all__ = ["roles"]

HELD = {"age": "7d", "hold_log": {"age": "1d"}}
SLOTS = "SELECT slot_name, confirmed_flush_lsn::text FROM pg_replication_slots WHERE database = current_database()"
HELD_SLOT = "ddlrepl_shop_held"
WORK = (
    "INSERT INTO t SELECT i, i FROM generate_series(2, 300) i",
    "ALTER TABLE t ADD b text DEFAULT 'x'",
    "UPDATE t SET b = 'y' WHERE id % 3 = 0",
    "ALTER TABLE t DROP COLUMN a",
)


def holding(databases: Any, past: str, folder: Path, **horizon: Any) -> Replica:
    """Not activated yet."""
    replays = [{"name": "past", "location": past}]
    file = channel_file(folder, databases.source, databases.target, rewind_horizon=HELD | horizon, replays=replays)
    return Replica(databases.source, databases.target, file)


@pytest.fixture
def replica(databases: Any, past: str, tmp_path: Path) -> Replica:
    made = holding(databases, past, tmp_path)
    made.at_source("CREATE TABLE t (id int PRIMARY KEY, a int)", "INSERT INTO t VALUES (1, 1)")
    made.activate()
    return made


def trail(replica: Replica) -> Path:
    return replica.file.parent / "trail" / "shop"


def slots(replica: Replica) -> dict[str, str]:
    """Where the channel's slots stand."""
    return dict(read(replica.source, SLOTS))


def kept_log(replica: Replica) -> str:
    """Where the held log begins."""
    (position,) = (at for name, at in slots(replica).items() if name.endswith("_held"))
    return position


def remove(file: Path) -> None:
    shutil.rmtree(file) if file.is_dir() else file.unlink()


def hurt(replica: Replica, pattern: str, damage: Callable[[Path], None]) -> None:
    files = [file for file in trail(replica).glob(pattern) if damage is not flip or "transactions" not in file.name]
    assert files, pattern
    for file in files:
        damage(file)


DAMAGES: list[tuple[str, Callable[[Path], None]]] = [
    ("e*/data/**/*.parquet", Path.unlink),
    ("e*/data/**/*.parquet", truncate),
    ("e*/data/**/*.parquet", flip),
    ("e*/data/**/*.jsonl", Path.unlink),
    ("e*/data/**/*.jsonl", flip),
    ("e*/segments/*.json", Path.unlink),
    ("e*/segments/*.json", truncate),
    ("e*/data", remove),
    ("e*/[ds]*", remove),
]


def test_a_cycle_reads_again_what_is_lost(replica: Replica) -> None:
    """Captured, not at the target yet; more happens at the source before it is found out."""
    for number, (pattern, damage) in enumerate(DAMAGES):
        replica.at_source(
            f"CREATE TABLE t{number} (id int PRIMARY KEY, a int)",
            f"INSERT INTO t{number} SELECT i, i FROM generate_series(1, 300) i",
            f"UPDATE t SET a = {number}",
        )
        replica.capture()
        replica.at_source(f"ALTER TABLE t{number} DROP COLUMN a", f"INSERT INTO t{number} VALUES (1000)")
        replica.capture()
        replica.at_source(f"ALTER TABLE t{number} ADD c int DEFAULT 3", f"INSERT INTO t VALUES (1000 + {number})")
        hurt(replica, pattern, damage)
        replica.settle()
    with flow.open_channel(replica.file, InProcess()) as run:
        for row in run.live_segments()[-3:]:
            for blob in run.trail.segment(row.epoch, row.low).blobs():
                run.trail.verify(blob)


@pytest.mark.parametrize("databases", [18, 15], indirect=True)
def test_a_rewind_reads_again_what_is_lost(replica: Replica, past: str) -> None:
    """Into the replay, and of a live target."""
    points = []
    for statement in WORK:
        replica.at_source(statement)
        points.append((captured(replica), read(replica.source, "SELECT to_jsonb(t) FROM t ORDER BY id")))
    for pattern, damage in DAMAGES:
        hurt(replica, pattern, damage)
        replica.rewind(points[2][0])
        assert read(past, "SELECT to_jsonb(t) FROM t ORDER BY id") == points[2][1], f"{damage.__name__} {pattern}"
    hurt(replica, *DAMAGES[-1])
    replica.rewind(points[2][0], "warehouse")
    replica.check_equal()


def test_log_that_the_source_does_not_hold(replica: Replica) -> None:
    """What was there before it was held stays lost, and is named; held log that was dropped by hand as well."""
    replica.at_source(WORK[0])
    replica.capture()
    for file in trail(replica).glob("e*/data/**/*.parquet"):
        file.unlink()
    with psycopg.connect(replica.source, autocommit=True) as connection:
        name = held_name(next(iter(sorted(slots(replica)))))
        connection.execute("SELECT pg_drop_replication_slot(%s)", [name])
    with pytest.raises(DdlReplError, match="TRL-101"):
        replica.replicate()
    assert name in slots(replica), "from then on it is held again"


def test_shapes_that_only_the_catalog_told(databases: Any, past: str, tmp_path: Path) -> None:
    """They are in the trail alone: read again with it, refused without it."""
    replica = holding(databases, past, tmp_path)
    channel_file(
        tmp_path,
        databases.source,
        databases.target,
        rewind_horizon=HELD,
        source={"ddl": "relations"},
    )
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY, a int)", "INSERT INTO t VALUES (1, 1)")
    replica.activate()
    replica.at_source("ALTER TABLE t ADD b int DEFAULT 2", "INSERT INTO t VALUES (2, 2, 2)")
    replica.capture()
    (inspected,) = trail(replica).glob("e*/data/**/*inspected.jsonl")
    told = inspected.read_bytes()
    for file in [*trail(replica).glob("e*/data/**/*.parquet"), *trail(replica).glob("e*/segments/*"), inspected]:
        file.unlink()
    with pytest.raises(DdlReplError, match=r"TRL-112: .*(?s:.*)no DDL record"):
        replica.replicate()
    assert not [*trail(replica).glob("e*/data/**/*.parquet")], "what was read for nothing is gone"
    inspected.parent.mkdir(parents=True, exist_ok=True)
    record = json.loads(told.splitlines()[0])
    gone = [[record["tables"][0]["id"], ["public", "t"]]]
    for forged in ({"kind": "truncate"}, {"dropped": gone}):
        inspected.write_text(json.dumps({**record, **forged, "tables": []}) + "\n")
        with pytest.raises(DdlReplError, match="TRL-112: the records of an inspection"):
            replica.replicate()
        inspected.parent.mkdir(parents=True, exist_ok=True)
    inspected.write_bytes(told)
    replica.settle()


def test_how_much_is_held(databases: Any, past: str, tmp_path: Path) -> None:
    """By age and by size, from a segment's beginning on; without it, and when the channel goes, nothing."""
    replica = holding(databases, past, tmp_path, hold_log={"size": "1MB"})
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY, a text)")
    replica.activate()
    first = kept_log(replica)
    for end in range(1000, 7000, 1000):
        replica.at_source(f"INSERT INTO t SELECT i, repeat('x', 40) FROM generate_series({end - 999}, {end}) i")
        replica.settle()
    with flow.open_channel(replica.file, InProcess()) as run:
        rows = run.live_segments()
        held = able(run.source, RetainsLog).retained_log.held_from()
    assert kept_log(replica) != first
    assert held in {row.low for row in rows[1:]}
    assert held is not None and rows[-1].high - held <= 1 << 20 < rows[-1].high - rows[0].low
    with flow.open_channel(replica.file, InProcess()) as run:
        assert flow.status(run).to_json()["trail"]["held_from"] == str(held)
        assert f"the source holds its log from {held} on" in flow.status(run).text()
    channel_file(tmp_path, databases.source, databases.target, rewind_horizon={"age": "7d"})
    replica.activate()
    assert not any(name.endswith("_held") for name in slots(replica))
    channel_file(tmp_path, databases.source, databases.target, rewind_horizon=HELD)
    replica.activate()
    assert any(name.endswith("_held") for name in slots(replica))
    with flow.open_channel(replica.file, InProcess()) as run:
        flow.deactivate(run)
    assert not slots(replica)


def in_repository(replica: Replica, statement: str) -> None:
    with closing(sqlite3.connect(replica.file.parent / "repository.db")) as connection, connection:
        assert connection.execute(statement).rowcount


def test_log_that_is_older_than_what_is_held(replica: Replica) -> None:
    """It goes with the next capture."""
    replica.at_source(WORK[0])
    replica.settle()
    first = kept_log(replica)
    in_repository(replica, "UPDATE segments SET created = datetime(created, '-25 hours')")
    replica.at_source(WORK[1])
    low = replica.settle().capture.low
    assert Position.parse(first) < Position.parse(kept_log(replica)) == low


@pytest.mark.parametrize("then", [True, False])
def test_a_truncate_is_left_out_as_it_was_when_it_was_captured(replica: Replica, then: bool) -> None:
    """Whatever the channel file says by now."""
    text = replica.file.read_text()
    replica.file.write_text(f"{text}capture: {{no_truncate: {str(then).lower()}}}\n")
    replica.at_source("TRUNCATE t", "INSERT INTO t VALUES (2, 2)")
    replica.capture()
    replica.file.write_text(f"{text}capture: {{no_truncate: {str(not then).lower()}}}\n")
    hurt(replica, "e*/data", remove)
    replica.replicate()
    assert replica.rows("SELECT id FROM t ORDER BY id") == ([(1,), (2,)] if then else [(2,)])


def test_log_that_tells_something_else(replica: Replica) -> None:
    """It is not taken, and the trail stays as it is."""
    replica.at_source(*WORK)
    replica.capture()
    hurt(replica, "e*/data/**/*.parquet", truncate)
    left = {file: file.read_bytes() for file in trail(replica).rglob("*") if file.is_file()}
    in_repository(replica, "UPDATE segments SET rows = rows + 1")
    for _ in range(2):
        with pytest.raises(DdlReplError, match=r"TRL-112: .*has 399 row changes and 2 schema changes.*400 and 2"):
            replica.replicate()
        assert {file: file.read_bytes() for file in trail(replica).rglob("*") if file.is_file()} == left
    in_repository(replica, "UPDATE segments SET rows = rows - 1")
    replica.settle()


@pytest.mark.parametrize("how", ["dropped", "moved on"])
def test_a_slot_that_is_lost_comes_back_without_a_gap(replica: Replica, how: str) -> None:
    """And without a refresh: activation makes it again where the log is held."""
    replica.at_source(*WORK[:2])
    replica.settle()
    replica.at_source(*WORK[2:])
    name = next(iter(sorted(slots(replica))))
    with psycopg.connect(replica.source, autocommit=True) as connection:
        if how == "dropped":
            connection.execute("SELECT pg_drop_replication_slot(%s)", [name])
        else:
            connection.execute("SELECT pg_replication_slot_advance(%s, pg_current_wal_lsn())", [name])
    with pytest.raises(DdlReplError, match=r"SRC-102|SRC-141"):
        replica.replicate()
    found = replica.activate()
    assert not found.refreshed
    assert not replica.replicate().refresh.tables
    replica.check_equal()
    assert read(replica.source, f"SELECT failover FROM pg_replication_slots WHERE slot_name = '{name}'") == [(True,)]
    with flow.open_channel(replica.file, InProcess()) as run:
        assert run.epoch == 1


def test_a_role_that_may_not_copy_slots(
    databases: Any, past: str, tmp_path: Path, roles: Roles, caplog: pytest.LogCaptureFixture
) -> None:
    """Activation says so; cycles go on with a warning."""
    replica = holding(databases, past, tmp_path)
    replica.activate()
    reader = roles.make("the reading role")
    channel_file(tmp_path, reader, databases.target, rewind_horizon=HELD)
    replica.at_source(*(f"REVOKE EXECUTE ON FUNCTION pg_catalog.{function} FROM public" for function in FUNCTIONS))
    replica.at_source(f"SELECT pg_drop_replication_slot('{HELD_SLOT}')", "INSERT INTO t VALUES (77, 'x')")
    replica.settle()
    assert "the source does not hold its log for rewinds: SRC-118" in caplog.text
    with pytest.raises(DdlReplError, match=r"SRC-118: .*(?s:.*)GRANT EXECUTE ON FUNCTION pg_copy_logical"):
        replica.activate()


@pytest.mark.req("HVR-W-01")
def test_schema_changes_after_the_start_of_capture_are_listed(replica: Replica) -> None:
    """Before anything is done, in the order of the log; none of those before it."""
    replica.at_source("ALTER TABLE t ADD early int")
    captured(replica)
    start = captured(replica)
    replica.at_source("INSERT INTO t (id) VALUES (501)", "ALTER TABLE t ADD late int")
    captured(replica)
    found = replica.activate(start=start)
    (change,) = found.changes_since
    assert re.fullmatch(r"public\.t at [0-9A-F]+/[0-9A-F]+: ALTER TABLE t ADD late int", change)
    assert found.reread > 0
    assert replica.activate().changes_since == ()
    replica.settle()


def test_capture_starts_again_in_the_past(replica: Replica, past: str) -> None:
    """The whole trail is lost, and what it held is captured once more; targets and positions stay as they are."""
    points = []
    for statement in WORK:
        replica.at_source(statement, "SELECT pg_sleep(0.05)")
        points.append((captured(replica), read(replica.source, "SELECT clock_timestamp()")[0][0]))
    replica.at_source("CREATE TABLE u (id int)", "INSERT INTO u VALUES (1)")
    end = captured(replica)
    before = replica.rows("SELECT * FROM ddlrepl.position")
    for start, segments in (("oldest", 5), (points[1][0], 3), (points[2][1].isoformat(), 2), (end, 0), ("now", 0)):
        assert replica.activate(start=start).reread == segments, start
    shutil.rmtree(trail(replica).parent)
    assert replica.activate(start="oldest").reread == 5
    replica.refresh("public.t")
    replica.at_source("DROP TABLE u")
    captured(replica)
    replica.rewind(end, tables=["public.u"])
    assert read(past, "SELECT * FROM u") == [(1,)]
    assert replica.rows("SELECT channel FROM ddlrepl.position WHERE channel = 'shop'") == [before[0][:1]]


def test_where_capture_can_not_start_again(replica: Replica, databases: Any) -> None:
    """Nothing is done then."""
    replica.at_source(*WORK)
    captured(replica)
    replica.at_source(f"SELECT pg_replication_slot_advance('{HELD_SLOT}', pg_current_wal_lsn())")
    ((future,),) = read(replica.source, "SELECT (clock_timestamp() + interval '1 hour')::text")
    for start, told in (
        ("0/1", r"SRC-119: .*holds its log from"),
        ("2020-01-01T00:00:00+00:00", r"SRC-119"),
        (future.replace(" ", "T"), r"CTL-110"),
        ("FFF/0", r"CTL-110"),
        ("yesterday", r"CFG-111"),
    ):
        with pytest.raises(DdlReplError, match=told) as refused:
            replica.activate(start=start)
        assert refused.value.hint
    channel_file(replica.file.parent, databases.source, databases.target, rewind_horizon={"age": "7d"})
    replica.activate()
    with pytest.raises(DdlReplError, match=r"CFG-134.*(?s:.*)hold_log"):
        replica.activate(start="oldest")


def test_killed_while_a_segment_is_read_again(replica: Replica) -> None:
    """The next run does it anew."""
    replica.at_source(*WORK)
    replica.capture()
    hurt(replica, "e*/data/**/*.parquet", Path.unlink)
    die("replicate", replica.file, "reread.files")
    replica.settle()
