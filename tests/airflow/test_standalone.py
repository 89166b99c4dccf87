"""The DAG under a real scheduler, as a user runs it: bundle configured, `dags unpause`, `dags trigger`."""

from __future__ import annotations

import json
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.errors import DdlReplError
from tests.airflow.conftest import airflow_environment
from tests.airflow.support import shop
from tests.airflow.support.answering import Asked

DAG = "ddlrepl__standalone__replicate"
REWIND = "ddlrepl__standalone__rewind"
REPLAY = "ddlrepl__standalone__replay"


@pytest.mark.e2e
@pytest.mark.timeout(900)
@pytest.mark.xdist_group("standalone")
def test_a_triggered_run_replicates_an_approved_one_rewinds_a_backfill_replays(databases: Any, tmp_path: Path) -> None:
    name = databases.source.rpartition("/")[2]
    past, metadata = (databases.server.create_database(f"{kind}_{name}") for kind in ("past", "airflow"))
    with tempfile.TemporaryDirectory(prefix="ddlrepl-standalone-") as folder:
        home = Path(folder)
        channels = home / "channels"
        connections = {
            "AIRFLOW_CONN_SHOP_SOURCE": databases.source,
            "AIRFLOW_CONN_SHOP_TARGET": databases.target,
            "AIRFLOW_CONN_SHOP_PAST": past,
        }
        environment = airflow_environment(home, channels)
        del environment["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"]
        shop.run_sql(databases.source, shop.BEFORE)
        with pytest.MonkeyPatch.context() as patch, Asked(home, metadata, environment | connections) as airflow:
            for name, value in connections.items():
                patch.setenv(name, value)
            place = (channels, home, "standalone", "shop_source", "shop_target", "shop_past")
            shop.activate(shop.write_channel(*place))
            before, then = shop.rows(databases.source, "orders"), shop.position(databases.source)
            shop.run_sql(databases.source, shop.CHANGES)
            start = this_minute()
            airflow.wait_for_dag(DAG)
            airflow.command("dags", "unpause", DAG, "--yes")
            airflow.command("dags", "trigger", DAG, "--run-id", "first")
            assert airflow.wait_for_run(DAG, "first", 420) == "success", airflow.task_logs()
            assert airflow.returned(DAG, "first", "capture")["ddl"]["ALTER TABLE"] == 2
            for table in ("orders", "customers"):
                assert shop.rows(databases.target, table) == shop.rows(databases.source, table)
            airflow.command("dags", "unpause", REWIND, "--yes")
            airflow.command("dags", "trigger", REWIND, "--run-id", "back", "--conf", json.dumps({"to": then}))
            shown, state = airflow.approve(REWIND, "back", "approve", 480)
            assert "| `public.orders` | safe (keep or regenerate) | 50 at " in shown
            assert state == "success", airflow.task_logs()
            assert airflow.returned(REWIND, "back", "rewind")["tables"] == ["public.orders"]
            assert shop.rows(past, "orders") == before
            assert shop.rows(databases.target, "orders") == shop.rows(databases.source, "orders")
            backfill(airflow, databases, past, place, start)
    for database in (past, metadata):
        databases.server.drop_database(database.rpartition("/")[2])


def backfill(
    airflow: Asked, databases: Any, past: str, place: tuple[Path, Path, str, str, str, str], start: datetime
) -> None:
    """Two intervals: the first with everything so far, the second with one row more. The target is left alone."""
    while this_minute() == start:
        time.sleep(1)
    first = shop.rows(databases.source, "orders")
    shop.run_sql(databases.source, ["INSERT INTO orders VALUES (52, 'in the second interval', 1)"])
    ends = [start + timedelta(minutes=1), this_minute() + timedelta(minutes=1)]
    shop.replicate(shop.write_channel(*place))
    shop.run_sql(databases.target, ["DELETE FROM orders WHERE id = 52"])
    schedule = ",".join(str(moment.minute) for moment in sorted({start, *ends}, key=lambda at: at.minute)) + " * * * *"
    shop.write_channel(*place, schedule=schedule)
    airflow.wait_for_dag(DAG, schedule)
    airflow.wait_for_interval(DAG, ends[1], 300)
    airflow.wait_for_dag(REPLAY)
    airflow.command("dags", "unpause", REPLAY, "--yes")
    with pytest.raises(DdlReplError, match=r"(?s)DEM-102: .*does not allow backfill runs"):
        airflow.backfill(DAG, start, ends[0], 300)
    done = airflow.backfill(REPLAY, start, ends[0], 300)
    assert list(done.values()) == ["success", "success"], airflow.task_logs()
    results = [airflow.returned(REPLAY, run, "replay") for run in done]
    assert [sorted(result["loaded"]) for result in results] == [["public.orders"], []]
    assert [result["rows"].get("inserted") for result in results] == [3, 1]
    assert shop.rows(past, "orders") == shop.rows(databases.source, "orders") != first
    assert shop.rows(databases.target, "orders") == first


def this_minute() -> datetime:
    return datetime.now(UTC).replace(second=0, microsecond=0)
