"""The DAG under a real scheduler, as a user runs it: bundle configured, `dags unpause`, `dags trigger`."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from airflow_ddlrepl.errors import DdlReplError
from tests.airflow.support import shop
from tests.airflow.support.answering import Asked
from tests.airflow.support.shared import Shared

DAG = "ddlrepl__standalone__replicate"
REWIND = "ddlrepl__standalone__rewind"
REPLAY = "ddlrepl__standalone__replay"


class Urls(NamedTuple):
    """Of the channel's databases."""

    source: str
    target: str
    past: str


@pytest.mark.e2e
@pytest.mark.timeout(900)
@pytest.mark.xdist_group("standalone")
def test_a_triggered_run_replicates_an_approved_one_rewinds_a_backfill_replays(shared_airflow: Shared) -> None:
    airflow, urls = shared_airflow.airflow, Urls(*shared_airflow.databases("shop"))
    place = (shared_airflow.bundle, shared_airflow.home, "standalone", "shop_source", "shop_target", "shop_past")
    shop.run_sql(urls.source, shop.BEFORE)
    shop.activate(shop.write_channel(*place))
    before, then = shop.rows(urls.source, "orders"), shop.position(urls.source)
    shop.run_sql(urls.source, shop.CHANGES)
    start = this_minute()
    airflow.wait_for_dag(DAG)
    airflow.command("dags", "unpause", DAG, "--yes")
    airflow.command("dags", "trigger", DAG, "--run-id", "first")
    assert airflow.wait_for_run(DAG, "first", 420) == "success", airflow.task_logs()
    assert airflow.returned(DAG, "first", "capture")["ddl"]["ALTER TABLE"] == 2
    for table in ("orders", "customers"):
        assert shop.rows(urls.target, table) == shop.rows(urls.source, table)
    airflow.command("dags", "unpause", REWIND, "--yes")
    airflow.command("dags", "trigger", REWIND, "--run-id", "back", "--conf", json.dumps({"to": then}))
    shown, state = airflow.approve(REWIND, "back", "approve", 480)
    assert "| `public.orders` | safe (keep or regenerate) | 50 at " in shown
    assert state == "success", airflow.task_logs()
    assert airflow.returned(REWIND, "back", "rewind")["tables"] == ["public.orders"]
    assert shop.rows(urls.past, "orders") == before
    assert shop.rows(urls.target, "orders") == shop.rows(urls.source, "orders")
    backfill(airflow, urls, place, start)


def backfill(airflow: Asked, urls: Urls, place: tuple[Path, Path, str, str, str, str], start: datetime) -> None:
    """Two intervals: the first with everything so far, the second with one row more. The target is left alone."""
    while this_minute() == start:
        time.sleep(1)
    first = shop.rows(urls.source, "orders")
    shop.run_sql(urls.source, ["INSERT INTO orders VALUES (52, 'in the second interval', 1)"])
    ends = [start + timedelta(minutes=1), this_minute() + timedelta(minutes=1)]
    shop.replicate(shop.write_channel(*place))
    shop.run_sql(urls.target, ["DELETE FROM orders WHERE id = 52"])
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
    assert shop.rows(urls.past, "orders") == shop.rows(urls.source, "orders") != first
    assert shop.rows(urls.target, "orders") == first


def this_minute() -> datetime:
    return datetime.now(UTC).replace(second=0, microsecond=0)
