"""What a rewind can't do it refuses before it has touched anything: the target, the replay, any position.

Only a file of rows whose content is damaged is found out in the middle; a live target is not touched then, either.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.postgres.connection import lock_retry
from airflow_ddlrepl.errors import DdlReplError, Exit, LockHeld, TargetError, Unreachable
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.ports.work import InProcess
from tests.flow.run.test_bad_trail import flip, truncate
from tests.flow.run.test_two_runs import lease_runs_out
from tests.support.attempts import SLEPT, stopped_at
from tests.support.refusing import in_shell
from tests.support.replayable import captured, read, replayable
from tests.support.replica import Replica, channel_file

LIVE = "warehouse"
TABLES = (
    "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND relnamespace::regnamespace::text !~ '^(pg_|inf)'"
)
HERE = "SELECT pg_current_wal_flush_lsn()::text, clock_timestamp()"


@pytest.fixture
def replica(databases: Any, past: str, tmp_path: Path) -> Replica:
    """Not activated yet."""
    return replayable(databases, tmp_path, location=past)


def everything(*urls: str) -> list[tuple[str, list[str]]]:
    """All rows of all tables, positions and standings among them."""
    found = []
    for url in urls:
        with psycopg.connect(url) as connection:
            for (name,) in sorted(connection.execute(TABLES)):
                found.append((name, sorted(map(repr, connection.execute(f"TABLE {name}")))))
    return found


def here(replica: Replica) -> tuple[str, str]:
    """A position and a moment of the source: now."""
    ((lsn, moment),) = read(replica.source, HERE)
    return lsn, moment.isoformat()


DAMAGES: list[tuple[str, Callable[[Path], None], str]] = [
    ("e*/data/**/*.parquet", Path.unlink, "TRL-101"),
    ("e*/data/**/*.parquet", truncate, "TRL-102"),
    ("e*/data/**/*.parquet", flip, "TRL-103"),
    ("e*/data/**/*.jsonl", Path.unlink, "TRL-101"),
    ("e*/data/**/*.jsonl", flip, "TRL-103"),
    ("e*/segments/*.json", Path.unlink, "TRL-101"),
    ("e*/segments/*.json", truncate, "TRL-106"),
    ("e*/loads/*/*.zst", Path.unlink, "TRL-101"),
    ("e*/loads/*/*.zst", flip, "TRL-103"),
    ("e*/loads/*.json", truncate, "TRL-113"),
    ("e*/loads/*.json", Path.unlink, "REW-101"),
]


def test_a_trail_that_is_missing_or_damaged(replica: Replica, past: str) -> None:
    """The file is named, with the segment that it is of, though it is the last one that the rewind reads."""
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY, a int)", "INSERT INTO t VALUES (1, 1)")
    replica.activate()
    first = captured(replica)
    replica.at_source("INSERT INTO t VALUES (2, 2)")
    captured(replica)
    replica.at_source("INSERT INTO t VALUES (3, 3)", "ALTER TABLE t RENAME a TO b")
    now = captured(replica)
    replica.rewind(first)
    root = replica.file.parent / "trail" / "shop"
    for pattern, damage, code in DAMAGES:
        files = sorted(path for path in root.glob(pattern) if "transactions" not in path.name)
        assert files, pattern
        data = files[-1].read_bytes()
        target, replay = everything(replica.target), everything(past)
        is_seen_before = damage is not flip or "jsonl" in pattern  # what a file of rows holds is read in the middle
        damage(files[-1])
        for into, to in [("past", now), (LIVE, first)][: 2 if "parquet" in pattern else 1]:
            with pytest.raises(DdlReplError, match=code) as refused:
                replica.rewind(to, into)
            name = files[-1].relative_to(root).as_posix()
            assert name in str(refused.value) or code == "REW-101", f"{name} in {refused.value}"
            assert everything(replica.target) == target, f"{name} for {into}"
            if is_seen_before:
                assert everything(past) == replay, f"{name} for {into}"
        files[-1].write_bytes(data)
    replica.rewind(now)
    assert read(past, "SELECT id, b FROM t ORDER BY id") == [(1, 1), (2, 2), (3, 3)]
    replica.rewind(first, LIVE)
    replica.check_equal()


def test_a_load_that_can_not_be_read_stops_no_cycle(
    databases: Any, past: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The tables are kept anew, once. Old segments still go, as far as nothing needs them."""
    more = {"rewind_horizon": {"age": 60}, "retention": {"age": 0}, "replays": [{"name": "past", "location": past}]}
    file = channel_file(tmp_path, databases.source, databases.target, **more)
    replica = Replica(databases.source, databases.target, file)
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    replica.activate()
    root = tmp_path / "trail" / "shop"
    (damaged,) = root.glob("e*/loads/*.json")
    truncate(damaged)
    for number in (2, 3):
        replica.at_source(f"INSERT INTO t VALUES ({number})")
        now = captured(replica)
        assert len(list(root.glob("e*/loads/*.json"))) == 2
    assert f"{damaged.relative_to(root).as_posix()} of a load is not the one that was archived" in caplog.text
    with pytest.raises(DdlReplError, match="TRL-113"):
        replica.rewind(now)
    damaged.unlink()
    replica.rewind(now)
    assert read(past, "SELECT count(*) FROM t") == [(3,)]


def test_what_is_asked_for_wrongly(replica: Replica, past: str) -> None:
    """And a channel that another run holds: who it is, is told."""
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    position, moment = here(replica)
    replica.activate()
    now = captured(replica)
    replica.rewind(now)
    before = everything(past, replica.target)
    asked: list[tuple[str, tuple[str, ...], str]] = [
        (position, (), "REW-101: .*oldest position that works"),
        (moment, (), "REW-101: .*before the beginning of the trail.*oldest position that works"),
        ("2026-11-21T08:00:00", (), "CFG-111: .*with its offset"),
        (now, ("public.nothing",), r"CFG-131: .*public\.nothing"),
    ]
    for into in ("past", LIVE):
        for to, tables, told in asked:
            for ask in (replica.plan_rewind, replica.rewind):
                with pytest.raises(DdlReplError, match=f"(?s){told}") as refused:
                    ask(to, into, tables)
                assert refused.value.hint
        with (
            flow.open_channel(replica.file, InProcess()) as other,
            other.locked("refresh"),
            pytest.raises(LockHeld, match=rf"LCK-101: .*\(process {os.getpid()}\), refresh since"),
        ):
            replica.rewind(now, into)
    assert everything(past, replica.target) == before


def test_a_reader_of_the_replay_is_waited_for_no_longer_than_its_lock_timeout(
    databases: Any, past: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The channel is not held up by somebody who looks at the past; who it is, is told."""
    monkeypatch.setattr(lock_retry, "ATTEMPTS", 2)
    replica = replayable(databases, tmp_path, location=past, lock_timeout=1)
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY, a int)", "INSERT INTO t VALUES (1, 1)")
    replica.activate()
    first = captured(replica)
    replica.rewind(first)
    replica.refresh("public.t")
    replica.at_source("INSERT INTO t VALUES (2, 2)")
    now = captured(replica)
    with ThreadPoolExecutor(1) as other, psycopg.connect(past) as reader:
        reader.execute("SELECT * FROM t")
        for to, onward in ((first, False), (now, True)):
            error = other.submit(replica.rewind, to, onward=onward).exception(60)
            assert isinstance(error, TargetError) and error.code == "TGT-110", to
            assert f"process {reader.info.backend_pid} " in error.message
    replica.rewind(now, onward=True)
    assert read(past, "SELECT * FROM t ORDER BY id") == [(1, 1), (2, 2)]


@pytest.mark.parametrize(("transaction", "into"), [(1, "past"), (2, LIVE)])
def test_a_rewind_that_was_taken_over_while_it_slept(
    replica: Replica, past: str, tmp_path: Path, transaction: int, into: str
) -> None:
    """Its transaction, in the replay or at the target, is in nobody's way, and it writes nothing any more."""
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    replica.activate()
    first = captured(replica)
    replica.at_source("INSERT INTO t VALUES (2)")
    now = captured(replica)
    slept = tmp_path / "slept"
    point = f"refresh.transaction:{transaction}"
    run = stopped_at(point, "rewind", replica.file, {SLEPT: str(slept)}, Position.parse(first), into)
    lease_runs_out(replica, slept)
    replica.at_source("INSERT INTO t VALUES (3)")
    replica.settle()
    replica.rewind(now, "past")
    error = run.wake()
    assert error is not None and error.retryable, error
    assert read(past, "SELECT * FROM t ORDER BY id") == [(1,), (2,)]
    replica.check_equal()


def test_a_position_inside_a_transaction(replica: Replica, past: str) -> None:
    """It is before it or after it as a whole, and so is a moment before its commit."""
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)", "CREATE TABLE u (id int PRIMARY KEY)")
    replica.activate()
    points = []
    with psycopg.connect(replica.source) as session:
        for statement in ("INSERT INTO t VALUES (1)", "ALTER TABLE u ADD n int", "INSERT INTO u VALUES (1, 1)"):
            session.execute(statement)
            points.append(here(replica))
            replica.at_source("SELECT pg_logical_emit_message(false, 'noise', 'between', true)")
    after = here(replica)
    replica.at_source("INSERT INTO t VALUES (2)")
    captured(replica)
    for to in [*(lsn for lsn, _ in points[1:]), points[2][1]]:
        replica.rewind(to)
        assert read(past, "SELECT (SELECT count(*) FROM t), to_jsonb(u) FROM (SELECT) one LEFT JOIN u ON true") == [
            (0, None)
        ]
        assert read(past, "SELECT count(*) FROM information_schema.columns WHERE table_name = 'u'") == [(1,)]
    for to in after:
        replica.rewind(to)
        assert read(past, "SELECT t.id, u.id, u.n FROM t, u") == [(1, 1, 1)]
    replica.rewind(points[2][0], LIVE)
    replica.check_equal()


def test_a_replay_that_is_not_there(
    databases: Any, past: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No database, no such role, nobody who listens, and a role that may make nothing."""
    replica = replayable(databases, tmp_path, location=f"{past}_gone")
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    replica.activate()
    now = captured(replica)
    before = everything(replica.target)
    name = past.rpartition("/")[2]
    port = past.rpartition("/")[0].rpartition(":")[2]
    for location, told in (
        (f"{past}_gone", f"{name}_gone"),
        (past.replace("postgres:", "nobody:", 1), name),
        (past.replace(f":{port}/", ":1/"), "past"),
    ):
        replayable(databases, tmp_path, location=location)
        for into in ("past", LIVE):
            with pytest.raises(Unreachable, match=told) as refused:
                replica.rewind(now, into)
            assert refused.value.hint
    code, said = in_shell(capsys, "rewind", str(replica.file), "--to", now, "--into", "past")
    assert code == Exit.UNREACHABLE and "past" in said
    databases.server.create_role(f"poor_{name}")
    replayable(databases, tmp_path, location=databases.server.dsn(name, f"poor_{name}"))
    with pytest.raises(DdlReplError, match=f"TGT-102: .*{name}|TGT-102"):
        replica.rewind(now)
    assert everything(replica.target) == before
    assert everything(past) == []
    replayable(databases, tmp_path, location=past)
    replica.rewind(now)
    assert read(past, "SELECT * FROM t") == [(1,)]
