"""The health of a channel with thousands of tables is read by few queries, without the shapes of the tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import event

from airflow_ddlrepl.flow.health.channel import channel_health, channel_line, lag_history
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.record import RefreshRequested
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.repository.stored.health_rows import LagRow, Outcome, StageEnd, StatusRow
from airflow_ddlrepl.repository.stored.rows import ChannelState
from tests.repository.test_repository import revision, shape

TABLES = 5000
NOW = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)


def filled(repository: Repository) -> None:
    """A channel as its runs leave it: one table of 5,000 is suspended."""
    repository.ensure_channel("shop", "f")
    with repository.lock("shop", "a") as lock:
        found = [revision(0, 0x10, shape(i, f"t{i}", 3), i) for i in range(1, TABLES + 1)]
        repository.enroll("shop", lock.token, found, Position(0x100))
        repository.set_state("shop", lock.token, ChannelState.ACTIVE)
        repository.request_refresh("shop", lock.token, "warehouse", RefreshRequested(7, "by hand", Position(0x10)))
        repository.finish_refresh("shop", lock.token, "warehouse", 7, 42)
    repository.add_table_changes("shop", {7: 3}, NOW)
    repository.add_table_changes("shop", {7: 4, 8: 1}, NOW)
    repository.set_status("shop", StatusRow(NOW, "r", "replicate", 0.5, None, content()))
    repository.set_stage_end("shop", StageEnd("replicate", "r", NOW, NOW, Outcome.DONE))
    at = [NOW - timedelta(minutes=number) for number in range(48 * 60)]
    repository.add_lag("shop", [LagRow("warehouse", one, 0.5, 10, 1, 0, {"capture": 0.1}) for one in at])


def content() -> dict[str, Any]:
    tables: list[dict[str, Any]] = [
        {
            "table": f"public.t{i}",
            "table_id": i,
            "state": "suspended" if i == 4321 else "live",
            "revision": 0,
            "may_differ": [],
            "left_at_source": [],
            "discarded": 0,
            "conflicts": {},
            "since": "0/10" if i == 4321 else None,
            "why": "INT-110: too long" if i == 4321 else "",
        }
        for i in range(1, TABLES + 1)
    ]
    target = {"unreachable": None, "missing": None, "position": "0/100", "lag_seconds": 0.0, "lag_bytes": 0}
    return {"targets": {"warehouse": {**target, "tables": tables}}, "apply": [], "captured": "0/100"}


def test_five_thousand_tables_are_read_by_few_queries_and_the_one_in_trouble_comes_first(tmp_path: Path) -> None:
    with Repository.open(f"sqlite:///{tmp_path}/repository.db") as repository:
        filled(repository)
        counted: list[str] = []
        event.listen(repository._database._engine, "before_cursor_execute", lambda *given: counted.append(given[2]))
        found = channel_health(repository, "shop", NOW + timedelta(seconds=10))
        assert sum(one != "BEGIN" for one in counted) < 15 and not any("shape" in one for one in counted)
        assert (found["tables_total"], len(found["tables"])) == (TABLES, 100)
        assert found["tables"][0]["table"] == "public.t4321"
        assert found["verdict"]["level"] == "waiting" and found["waiting"][0]["table"] == "public.t4321"
        assert len(found["history"]) == 48 * 60

        whole = channel_health(repository, "shop", NOW, tables=TABLES)
        assert len(whole["tables"]) == TABLES
        seven = next(row for row in whole["tables"] if row["table"] == "public.t7")
        assert (seven["changes"], seven["loaded_rows"]) == (7, 42) and seven["changed"] and seven["loaded"]
        line = channel_line(repository, "shop", NOW)
        assert (line["channel"], line["verdict"]["level"], line["waiting"]) == ("shop", "waiting", 1)


def test_the_history_of_the_lag_gets_thinner_and_ends(tmp_path: Path) -> None:
    with Repository.open(f"sqlite:///{tmp_path}/repository.db") as repository:
        begin = NOW - timedelta(days=33)
        for hour in range(33 * 24):
            at = begin + timedelta(hours=hour)
            rows = [LagRow("w", at + timedelta(minutes=m), float(m), m, 2, 1, {"capture": 1.0}) for m in (1, 31)]
            for row in rows:
                repository.add_lag("shop", [row])
        kept = repository.lag_rows("shop", begin)
        hours = [row for row in kept if row.is_hour]
        dense = [row for row in kept if not row.is_hour]
        assert dense[0].at >= NOW - timedelta(hours=51) and len(dense) >= 2 * 47
        assert hours[0].at >= NOW - timedelta(days=30, hours=2) and 27 * 24 < len(hours) <= 29 * 24
        assert {(row.lag_seconds, row.lag_bytes, row.rows, row.schema_changes) for row in hours} == {(31.0, 31, 4, 2)}
        assert {row.at.minute for row in hours} == {0} and hours[0].seconds == {"capture": 1.0}


def test_the_history_of_thirty_days_has_a_row_for_each_hour_and_target(tmp_path: Path) -> None:
    with Repository.open(f"sqlite:///{tmp_path}/repository.db") as repository:
        begin = NOW - timedelta(days=5)
        for minute in range(0, 5 * 24 * 60, 20):
            at = begin + timedelta(minutes=minute)
            repository.add_lag("shop", [LagRow(name, at, float(minute % 60), 7, 2, 1, {}) for name in ("v", "w")])
        dense = lag_history(repository, "shop", NOW, 2)
        assert len(dense) == 2 * 6 and not any(row["is_hour"] for row in dense)
        whole = lag_history(repository, "shop", NOW, 720)
        assert len(whole) == 2 * 5 * 24 and len({(row["target"], row["at"]) for row in whole}) == len(whole)
        assert {(row["lag_seconds"], row["rows"], row["is_hour"]) for row in whole} == {(40.0, 6, True)}
        assert [row["at"] for row in whole] == sorted(row["at"] for row in whole)


def test_a_status_that_could_not_be_found_leaves_the_older_one(tmp_path: Path) -> None:
    with Repository.open(f"sqlite:///{tmp_path}/repository.db") as repository:
        repository.ensure_channel("shop", "f")
        repository.set_status("shop", StatusRow(NOW, "r1", "replicate", 0.5, None, {"captured": "0/1"}))
        repository.set_status("shop", StatusRow(NOW + timedelta(hours=1), "r2", "adapt", 0.1, "TRL-101: gone", None))
        row = repository.stored_status("shop")
        assert row == StatusRow(NOW, "r1", "replicate", 0.5, "TRL-101: gone", {"captured": "0/1"})
