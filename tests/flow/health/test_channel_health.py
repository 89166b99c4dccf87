"""The health of a channel is told by its repository alone, and is right whatever the last run's end."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.errors import ControlStop, Unreachable
from airflow_ddlrepl.flow.comparing.in_flight import settled
from airflow_ddlrepl.flow.health.channel import channel_health, channel_line
from airflow_ddlrepl.flow.health.facts import usual_interval
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.repository.stored.health_rows import LagRow
from tests.conftest import Databases
from tests.support.replica import Make, Replica, channel_file

STOPS = [{"add_table_pattern": "*", "on_enroll_break": "FAIL_INTEG_JOB"}]
DOWN = "postgresql://nobody@127.0.0.1:1/nowhere"


def health(replica: Replica, later: float = 0, **more: Any) -> dict[str, Any]:
    """later: so many seconds from now, with nothing in between."""
    with Repository.open(load_channel(replica.file).repository) as repository:
        return channel_health(repository, "shop", datetime.now(UTC) + timedelta(seconds=later), **more)


def verdict(replica: Replica, later: float = 0, **more: Any) -> tuple[str, str]:
    found = health(replica, later, **more)["verdict"]
    return found["level"], found["sentence"]


def test_a_healthy_channel_is_up_to_date_and_says_how_old_that_is(make: Make) -> None:
    replica = make("CREATE TABLE t (id int PRIMARY KEY)")
    replica.replicate()
    found = health(replica, later=12)
    assert found["verdict"]["level"] == "good", found["verdict"]
    assert found["verdict"]["sentence"].startswith("up to date 12 s ago")
    assert 11 < found["verdict"]["age_seconds"] < 30
    (target,) = found["targets"]
    assert (target["target"], target["verdict"]["level"], target["states"]) == ("warehouse", "good", {"live": 1})
    assert [(row["table"], row["target"], row["state"]) for row in found["tables"]] == [
        ("public.t", "warehouse", "live")
    ]
    assert found["waiting"] == found["failures"] == []


def test_a_channel_that_stopped_at_a_control_waits_for_a_person(make: Make) -> None:
    replica = make("CREATE TABLE t (id int PRIMARY KEY, v text)", "INSERT INTO t VALUES (1, '1')", adapt_ddl=STOPS)
    replica.settle()
    replica.at_source("ALTER TABLE t ALTER v TYPE int USING v::int + 0")
    with pytest.raises(ControlStop):
        replica.replicate()
    found = health(replica, file="/etc/shop.yml")
    assert found["verdict"]["level"] == "waiting"
    assert found["verdict"]["sentence"] == "target warehouse waits for a person before a schema change"
    (one,) = found["waiting"]
    assert one["remedy"]["command"] == f"ddlrepl controls remove /etc/shop.yml {one['number']}"
    assert (one["remedy"]["dag"], one["remedy"]["conf"]) == ("ddlrepl__shop__controls", {"control": one["number"]})
    assert found["failures"][0]["code"] == "CTL-101" and found["failures"][0]["hint"]

    with Repository.open(load_channel(replica.file).repository) as repository:
        repository.remove_control("shop", one["number"], "anna")
    replica.settle()
    assert verdict(replica)[0] == "good"


def test_a_source_that_does_not_answer_is_said_with_the_time_since_when(databases: Databases, tmp_path: Any) -> None:
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.activate()
    replica.replicate()
    assert verdict(replica)[0] == "good"
    channel_file(tmp_path, DOWN, databases.target)
    for _ in range(2):
        with pytest.raises(Unreachable):
            replica.replicate()
    found = health(replica)
    (failed,) = found["failures"]
    since = datetime.fromisoformat(failed["failing_since"])
    assert found["verdict"]["level"] == "bad"
    assert found["verdict"]["sentence"] == f"the source does not answer since {since:%H:%M} UTC"
    assert since < datetime.fromisoformat(failed["ended"]) + timedelta(seconds=1)
    (target,) = found["targets"]
    assert target["lag_seconds"] is None and target["verdict"]["level"] == "unknown"
    assert target["verdict"]["sentence"].startswith("how far it is behind is not known since ")
    channel_file(tmp_path, databases.source, databases.target)
    replica.replicate()
    assert verdict(replica)[0] == "good"


def test_a_target_that_does_not_answer_is_said_beside_one_that_does(databases: Databases, tmp_path: Any) -> None:
    places = (databases.source, databases.target)
    replica = Replica(*places, channel_file(tmp_path, *places))
    replica.activate()
    away = {"name": "away", "location": DOWN}
    channel_file(tmp_path, *places, targets=[away, {"name": "warehouse", "location": databases.target}])
    with pytest.raises(Unreachable):
        replica.replicate()
    found = health(replica)
    levels = {one["target"]: one["verdict"]["level"] for one in found["targets"]}
    assert levels == {"away": "bad", "warehouse": "good"}
    assert found["verdict"]["sentence"].startswith("target away does not answer since ")


def test_nothing_has_run_for_too_long(make: Make) -> None:
    replica = make("CREATE TABLE t (id int PRIMARY KEY)")
    replica.replicate()
    assert verdict(replica, 600, interval=300)[0] == "good"
    level, sentence = verdict(replica, 3 * 3600, interval=300)
    assert (level, sentence) == ("late", "nothing has run for 3 h")
    assert verdict(replica, 3 * 3600, interval=86400)[0] == "good"


def test_a_few_runs_by_hand_are_no_habit() -> None:
    began = datetime(2026, 1, 1, tzinfo=UTC)

    def usual(runs: int) -> float | None:
        return usual_interval([LagRow("warehouse", began + timedelta(seconds=60 * n), 0.0, 0) for n in range(runs)])

    assert (usual(6), usual(20), usual(21), usual(60)) == (None, None, 60.0, 60.0)


def test_before_the_first_run_nothing_is_known(tmp_path: Any) -> None:
    with Repository.open(f"sqlite:///{tmp_path}/repository.db") as repository:
        now = datetime.now(UTC)
        found = channel_health(repository, "shop", now)["verdict"]
        assert (found["level"], found["sentence"]) == ("unknown", "not activated yet")
        assert found["remedy"]["command"] == "ddlrepl activate CHANNEL.yaml"
        assert channel_line(repository, "shop", now)["verdict"] == channel_health(repository, "shop", now)["verdict"]


def test_a_run_that_goes_on_is_said_and_one_that_takes_long_is_late(make: Make) -> None:
    replica = make("CREATE TABLE t (id int PRIMARY KEY)")
    replica.replicate()
    with Repository.open(load_channel(replica.file).repository) as repository:
        with repository.lock("shop", "anna@etl1, replicate", 1000):
            found = health(replica, 60)
            assert found["verdict"]["level"] == "good" and found["running"]["holder"] == "anna@etl1, replicate"
            assert verdict(replica, 2 * 3600 + 1) == ("late", "a run goes on for 2 h")
        assert health(replica)["running"] is None


def test_what_a_comparison_found_stands_at_its_table(make: Make) -> None:
    replica = make("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)", "CREATE TABLE u (id int)")
    replica.settle()
    replica.at_target("DELETE FROM t")
    replica.compare()
    rows = {row["table"]: row for row in health(replica)["tables"]}
    assert rows["public.t"]["differences"] == 1 and rows["public.t"]["compared"], rows["public.t"]
    assert rows["public.u"]["differences"] == 0 and rows["public.u"]["compared"]
    assert rows["public.t"]["undecided"] == rows["public.u"]["undecided"] == ""


def test_a_table_of_which_nobody_can_tell_whether_it_differs_is_not_called_equal(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log that was in flight while the tables were compared is not retained any more."""
    replica = make("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)", retention={"age": 0})
    replica.settle()
    replica.at_source("INSERT INTO t VALUES (2)")
    replica.capture()

    def judged(*given: Any) -> Any:
        for _ in range(2):
            replica.replicate()
        return settled(*given)

    monkeypatch.setattr("airflow_ddlrepl.flow.comparing.compare.settled", judged)
    assert replica.compare().undecided
    (row,) = health(replica)["tables"]
    assert row["differences"] == 0 and "TRL-124" in row["undecided"]


def test_the_status_names_the_failure_and_its_remedy_and_the_last_one_is_there_without_any_server(
    databases: Databases, tmp_path: Any
) -> None:
    places = (databases.source, databases.target)
    replica = Replica(*places, channel_file(tmp_path, *places))
    replica.activate()
    channel_file(tmp_path, DOWN, databases.target)
    with pytest.raises(Unreachable):
        replica.replicate()
    with flow.open_channel(replica.file, InProcess()) as run:
        found = flow.status(run)
    (failed,) = found.to_json()["failures"]
    assert (failed["stage"], failed["code"][:3]) == ("replicate", "CON") and failed["hint"]
    assert f"replicate fails since {failed['failing_since']}: {failed['code']}: " in found.text()
    assert f"  hint: {failed['hint']}" in found.text()

    last = flow.last_status(load_channel(replica.file))
    assert last is not None and last["source_unreachable"] and last["verdict"]["level"] == "bad"
    assert last["failures"] == [failed] and last["stage"] == "replicate"
