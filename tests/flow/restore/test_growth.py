"""What grows is told and limited: the trail, the source's retained log; slots that are lost are told, too."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import yaml

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.doctor import servers
from airflow_ddlrepl.errors import LimitReached
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import BOTH, Make, Replica

pytestmark = BOTH

TABLE = ("create table t (id int primary key, v text)", "insert into t values (1, 'a')")
ROWS = "insert into t select max(id) + i, repeat('x', 100) from t, generate_series(1, 500) i group by i"


def change(replica: Replica, **sections: Any) -> None:
    data = yaml.safe_load(replica.file.read_text())
    replica.file.write_text(yaml.safe_dump({**data, **sections}, sort_keys=False))


def status(replica: Replica) -> Any:
    with flow.open_channel(replica.file, InProcess()) as run:
        return flow.status(run)


def bad(replica: Replica) -> list[str]:
    return [one.detail for one in servers(load_channel(replica.file)) if not one.ok]


def test_without_retention_segments_go_after_a_week(make: Make) -> None:
    replica = make(*TABLE)
    replica.at_source(ROWS)
    replica.settle()
    folder = replica.file.parent / "trail" / "shop"
    assert len(list(folder.glob("e1/segments/*.json"))) == 1
    assert status(replica).to_json()["trail"]["retained"]["for_seconds"] == 7 * 24 * 3600
    age(replica, timedelta(days=6))
    replica.settle()
    assert len(list(folder.glob("e1/segments/*.json"))) == 1
    assert "1 more are retained" in status(replica).text()
    age(replica, timedelta(days=2))
    replica.replicate()
    assert list(folder.glob("e1/segments/*.json")) == []
    assert [path for path in folder.rglob("*") if path.is_file() and path.name != "trail.json"] == []


def test_a_segment_that_a_target_has_not_read_stays(make: Make) -> None:
    replica = make(*TABLE)
    replica.at_source(ROWS)
    replica.capture()
    age(replica, timedelta(days=30))
    replica.settle()
    assert replica.rows("select count(*) from t") == [(501,)]


def test_a_file_that_asks_for_it_retains_segments_for_ever(make: Make) -> None:
    replica = make(*TABLE, retention={"age": None})
    replica.at_source(ROWS)
    replica.settle()
    age(replica, timedelta(days=3000))
    replica.replicate()
    assert len(list((replica.file.parent / "trail" / "shop").glob("e1/segments/*.json"))) == 1


def age(replica: Replica, by: timedelta) -> None:
    """The segments are older by so much."""
    with flow.open_channel(replica.file, InProcess()) as run:
        ages = [(row.low, row.created - by) for row in run.live_segments()]
        with run.repository._database.write() as connection:
            for low, created in ages:
                moment = created.astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ")
                connection.exec_driver_sql(f"update segments set created = '{moment}' where low = {int(low)}")
    assert datetime.now(UTC)


@pytest.mark.parametrize(("key", "code"), [("trail_bytes", "LIM-101"), ("retained_log_bytes", "LIM-102")])
def test_a_limit_fails_the_run_that_has_done_its_work(make: Make, key: str, code: str) -> None:
    replica = make(*TABLE, limits={key: 1})
    replica.at_source(ROWS)
    with pytest.raises(LimitReached) as caught:
        replica.replicate()
    assert caught.value.code == code and f"limits.{key}" in caught.value.message
    assert replica.rows("select count(*) from t") == [(501,)]
    assert f"limits.{key}" in status(replica).text()
    change(replica, limits={key: 1, "at_limit": "warn"})
    replica.at_source(ROWS)
    replica.settle()
    change(replica, limits={key: "100TB"})
    replica.settle()
    assert f"limits.{key}" not in status(replica).text()


def test_no_capture_begins_while_the_trail_is_full(make: Make) -> None:
    replica = make(*TABLE)
    replica.at_source(ROWS)
    replica.settle()
    change(replica, limits={"trail_bytes": 1, "at_limit": "stop_capture"})
    replica.at_source(ROWS)
    with pytest.raises(LimitReached, match="LIM-101"):
        replica.replicate()
    assert replica.rows("select count(*) from t") == [(501,)]
    change(replica, limits={"trail_bytes": "1GB"})
    replica.settle()


def test_the_status_names_the_slot_and_what_it_retains(make: Make) -> None:
    replica = make(*TABLE)
    (slot,) = status(replica).to_json()["setup"]["held"]
    assert (slot["name"], slot["state"], slot["problem"]) == ("ddlrepl_shop", "reserved", "")
    assert "slot ddlrepl_shop retains" in status(replica).text()
    assert bad(replica) == []
    replica.at_source("select pg_drop_replication_slot('ddlrepl_shop')")
    assert "ddlrepl_shop is missing" in status(replica).text()
    assert any("ddlrepl_shop is missing" in one for one in bad(replica))


def test_doctor_tells_of_missing_and_added_segments(make: Make) -> None:
    replica = make(*TABLE)
    replica.at_source(ROWS)
    replica.settle()
    (file,) = (replica.file.parent / "trail" / "shop").glob("e1/segments/*.json")
    file.rename(file.with_name("0000000000000007.json"))
    found = bad(replica)
    assert any("1 segments are missing" in one for one in found) and any("were added" in one for one in found)
