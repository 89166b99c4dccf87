"""The demo's input: rows for any schema, Airflow's revisions over filled tables, and the servers' own comparison."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from airflow_ddlrepl.demo.backfill_check import bounds
from airflow_ddlrepl.demo.checksums import compare, diff_checksums, read_checksums
from airflow_ddlrepl.demo.cycles import portions
from airflow_ddlrepl.demo.rewind_check import BEFORE, RewindCheck, read_source_state
from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.demo.workload.rows import RowWriter
from airflow_ddlrepl.engines.postgres.connection.connect import connect

SCHEMA = """
CREATE TYPE mood AS ENUM ('so so', 'it''s fine');
CREATE TABLE "Po""or; %s" (id serial PRIMARY KEY, "ko%sík" varchar(12) UNIQUE NOT NULL, m mood, t timestamptz, b bytea,
  double int GENERATED ALWAYS AS (id * 2) STORED);
CREATE TABLE child (parent int NOT NULL REFERENCES "Po""or; %s", n smallint, j jsonb NOT NULL, f float8, u uuid,
  PRIMARY KEY (parent, n));
CREATE TABLE never (parent int NOT NULL REFERENCES never, id int PRIMARY KEY);
CREATE TABLE careful (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n int CHECK (n > 0), x numeric(12,2));
CREATE TABLE keyless (long text, d date, i interval);
"""


@pytest.fixture(scope="module")
def server(private_server: type[PrivateServer]) -> Iterator[PrivateServer]:
    with private_server("target") as found:
        yield found


def _filled(server: PrivateServer, name: str, seed: int, rounds: int = 4) -> tuple[str, RowWriter]:
    dsn = server.create_database(name)
    writer = RowWriter(seed)
    with connect(dsn) as connection:
        connection.execute(SCHEMA.encode())
        for _ in range(rounds):
            writer.write(connection)
    return dsn, writer


def test_rows_reach_every_table_that_can_have_some(server: PrivateServer) -> None:
    dsn, writer = _filled(server, "every", seed=3)
    names = {table.name for table in writer.written.tables}
    assert {'Po"or; %s', "child", "careful", "keyless"} <= names
    assert writer.written.inserts > writer.written.updates > writer.written.deletes > 0
    with connect(dsn) as connection:
        found = connection.execute(b'SELECT count(*), count(DISTINCT "ko%s\xc3\xadk") FROM "Po""or; %s"').fetchone()
    assert found is not None and found[0] == found[1] > 5


def test_the_same_seed_writes_the_same_rows(server: PrivateServer) -> None:
    first, _ = _filled(server, "same1", seed=5)
    second, _ = _filled(server, "same2", seed=5)
    other, _ = _filled(server, "other", seed=6)
    assert compare(first, second).differences == ()
    assert compare(first, other).differences


def test_the_servers_own_comparison_sees_a_row_a_column_and_a_table(server: PrivateServer) -> None:
    source, _ = _filled(server, "left", seed=7)
    target, _ = _filled(server, "right", seed=7)
    with connect(target) as connection:
        connection.execute(
            b"UPDATE careful SET x = x + 0.01 WHERE id = (SELECT min(id) FROM careful WHERE x IS NOT NULL)"
        )
        connection.execute(b"ALTER TABLE child ALTER n TYPE int")
        connection.execute(b"DROP TABLE keyless")
    found = compare(source, target).differences
    assert [line.split(":")[0] for line in found] == ["careful", "child", "keyless"]
    assert "n smallint against integer" in found[1]


def test_what_was_noted_is_told_from_what_is_there_later(server: PrivateServer) -> None:
    dsn, writer = _filled(server, "noted", seed=8)
    noted = read_source_state(dsn, "b12d4f98a91e")
    done = RewindCheck(noted, diff_checksums(noted.tables, read_checksums(dsn)), 1.0)
    assert done.line().startswith("before 0096 drops team.id")
    assert done.line().endswith(f"{sum(facts.rows for facts in noted.tables.values()):,} rows, equal; 1s")
    with connect(dsn) as connection:
        writer.write(connection)
        connection.execute(b"ALTER TABLE careful DROP x")
    later = read_source_state(dsn, "b12d4f98a91e")
    assert later.position > noted.position
    found = diff_checksums(noted.tables, later.tables)
    assert any("x numeric(12,2) against absent" in line for line in found.differences)
    assert "differences; 1s" in RewindCheck(noted, found, 1.0).line()


def test_portions_are_all_of_it_in_order() -> None:
    parts = list(portions([str(n) for n in range(124)], 12))
    assert len(parts) == 12
    assert [n for part in parts for n in part] == [str(n) for n in range(124)]
    assert {len(part) for part in parts} == {10, 11}


@pytest.mark.usefixtures("private_server")  # it starts two in a process of its own
@pytest.mark.timeout(600)
def test_the_demo_in_this_process_ends_equal_and_refreshes_only_what_no_alter_can_carry(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "airflow_ddlrepl.demo", "--in-process", "--cycles", "2", "--json", str(report)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=580, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    told = json.loads(report.read_text())
    assert told["differences"] == []
    assert sum(cycle["revisions"] for cycle in told["cycles"]) >= 124
    assert sum(cycle["written"] for cycle in told["cycles"]) > 30_000
    assert told["tables"] >= 67
    # Revisions 0049 and 0117 convert values with USING, which only the source can do.
    assert {table for _, table, _ in told["refreshes"]} == {"public.xcom", "public.deadline_alert"}
    assert "differences" in done.stdout
    assert [back["revision"] for back in told["rewinds"]] == list(BEFORE)
    assert all(back["tables"] > 40 and back["rows"] > 1000 and not back["differences"] for back in told["rewinds"])


@pytest.mark.parametrize("seconds", [0, 59, 61, 300, 1199])
def test_two_intervals_of_whole_minutes_hold_all_of_a_demo(seconds: int) -> None:
    since = datetime(2026, 11, 21, 8, 58, 30, tzinfo=UTC)
    now = since + timedelta(seconds=seconds)
    start, middle, end = bounds(since, now)
    assert start <= since
    assert start < middle < end
    assert now < end <= now + timedelta(minutes=2)
    assert all(moment.second == 0 for moment in (start, middle, end))
