"""What a channel's tasks send to a StatsD server, and whom they tell of troubles: each once, and when it is over."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import BaseNotifier
from airflow.sdk.exceptions import AirflowException
from airflow.sdk.observability import stats
from airflow.sdk.observability.metrics import stats_utils

from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.hooks.alerts import Trouble, listener_of
from airflow_ddlrepl.hooks.metrics import METRICS
from airflow_ddlrepl.operators.adapt_ddl import AdaptDDLOperator
from airflow_ddlrepl.operators.capture import CaptureOperator
from airflow_ddlrepl.operators.integrate import IntegrateOperator
from airflow_ddlrepl.operators.refresh import RefreshOperator
from tests.conftest import Databases
from tests.support.replica import Replica, channel_file

ROOT = Path(__file__).parents[3]
DASHBOARD = ROOT / "docs/examples/grafana/dashboard.json"
HERE = "tests.airflow.provider.test_metrics_and_alerts"
STAGES = (CaptureOperator, AdaptDDLOperator, RefreshOperator, IntegrateOperator)
TOLD: list[Trouble] = []
DEAF = {"is": False}


def tell(trouble: Trouble) -> None:
    if DEAF["is"]:
        raise ConnectionError("nobody listens at https://app:s3cret@pager.example")
    TOLD.append(trouble)


class Pager(BaseNotifier):  # type: ignore[misc]
    """A notifier of a user's, as those of Airflow's providers are."""

    template_fields = ("text",)

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text, self.sent = text, list[str]()

    def notify(self, context: Any) -> None:
        self.sent.append(self.text)


@pytest.fixture
def statsd(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A StatsD server, and an Airflow that sends to it."""
    pytest.importorskip("statsd", reason="Airflow's extra statsd is not installed")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        server.settimeout(0.2)
        for name, value in (("ON", "True"), ("HOST", "127.0.0.1"), ("PORT", str(server.getsockname()[1]))):
            monkeypatch.setenv(f"AIRFLOW__METRICS__STATSD_{name}", value)
        stats.initialize(factory=stats_utils.get_stats_factory(), export_legacy_names=False)
        yield server
        monkeypatch.undo()
        stats.initialize(factory=stats_utils.get_stats_factory(), export_legacy_names=False)


def received(server: socket.socket) -> dict[str, float]:
    """The newest value of each metric that has arrived."""
    found: dict[str, float] = {}
    while True:
        try:
            text = server.recv(1 << 16).decode()
        except TimeoutError:
            return found
        for line in text.splitlines():
            name, _, rest = line.partition(":")
            found[name.removeprefix("airflow.ddlrepl.")] = float(rest.partition("|")[0])


def cycle(replica: Replica) -> list[str]:
    """The tasks of a run of the replicate DAG; those that failed."""
    failed = []
    for kind in STAGES:
        operator = kind(task_id=kind.stage, channel=str(replica.file))
        try:
            operator.execute({"run_id": "by hand"})  # type: ignore[typeddict-item]
        except AirflowException:
            failed.append(kind.stage)
    return failed


def make(databases: Databases, folder: Path, **more: Any) -> Replica:
    file = channel_file(folder, databases.source, databases.target, **more)
    found = Replica(databases.source, databases.target, file)
    found.at_source("CREATE TABLE t (id int PRIMARY KEY, note text)", "INSERT INTO t VALUES (1, 'one')")
    found.activate()
    found.at_source("INSERT INTO t VALUES (2, 'two'), (3, 'three')", "UPDATE t SET note = 'more' WHERE id = 1")
    return found


def test_a_cycle_is_measured(databases: Databases, tmp_path: Path, statsd: socket.socket) -> None:
    replica = make(databases, tmp_path, ask_before=["drop_column"])
    assert cycle(replica) == []
    found = received(statsd)
    assert found["rows.shop.inserted"] == 2 and found["rows.shop.updated"] == 1
    assert found["level.shop"] == 0 and found["waiting.shop"] == found["controls.shop"] == 0
    assert found["tables.shop.warehouse.live"] == 1 and found["suspended_tables.shop.warehouse"] == 0
    assert found["lag_seconds.shop.warehouse"] >= 0 and "lag_bytes.shop.warehouse" in found
    assert all(found[f"stage_seconds.shop.{kind.stage}"] > 0 for kind in STAGES)

    replica.at_source("ALTER TABLE t ADD more int", "ALTER TABLE t DROP note", "INSERT INTO t VALUES (4)")
    assert "adapt" in cycle(replica)
    found = received(statsd)
    assert found["stage_failures.shop.adapt"] == 1 and found["controls.shop"] == 1 and found["waiting.shop"] >= 1
    assert found["level.shop"] in (3, 4) and found["lag_seconds.shop.warehouse"] > 0


def test_the_dashboard_asks_for_metrics_that_are_sent() -> None:
    """And for each of them."""
    text = DASHBOARD.read_text(encoding="utf-8")
    asked = {name.removesuffix("_total") for name in re.findall(r"airflow_ddlrepl_(\w+)", text)}
    assert asked == {metric.name for metric in METRICS}
    totals = {name.removesuffix("_total") for name in re.findall(r"airflow_ddlrepl_(\w+_total)", text)}
    assert totals == {metric.name for metric in METRICS if metric.kind == "counter"}
    for panel in json.loads(text)["panels"]:
        for target in panel.get("targets", ()):
            (name,) = set(re.findall(r"airflow_ddlrepl_(\w+?)(?:_total)?\b(?=[{\[])", target["expr"]))
            (metric,) = [one for one in METRICS if one.name == name]
            used = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) | set(
                re.findall(r"(\w+)=~?\"", target["expr"])
            )
            assert used <= set(metric.tags), panel["title"]


def test_the_page_of_metrics_has_each() -> None:
    page = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    for metric in METRICS:
        row = f"| `ddlrepl.{metric.name}` | {metric.kind} | {', '.join(metric.tags)} | {metric.meaning} |"
        assert row in page


def test_a_trouble_is_told_once_and_when_it_is_over(databases: Databases, tmp_path: Path) -> None:
    TOLD.clear()
    replica = make(databases, tmp_path, ask_before=["drop_column"], on_trouble=f"{HERE}:tell")
    assert cycle(replica) == [] and TOLD == []
    replica.at_source("ALTER TABLE t DROP note")
    for _ in range(2):
        assert "adapt" in cycle(replica)
    waits = [one for one in TOLD if one.level == "waiting"]
    assert len(waits) == len({one.key for one in TOLD}) == len(TOLD), TOLD
    assert waits[0].target == "warehouse" and "control" in waits[0].reason and waits[0].since
    assert "ddlrepl controls remove" in waits[0].remedy and str(replica.file) in waits[0].remedy
    began = len(TOLD)
    remove_controls(replica)
    assert cycle(replica) == []
    over = TOLD[began:]
    assert {one.key for one in over} == {one.key for one in TOLD[:began]} and all(one.is_over for one in over)
    assert cycle(replica) == [] and len(TOLD) == 2 * began


def remove_controls(replica: Replica) -> None:
    from airflow_ddlrepl import flow

    channel = load_channel(replica.file)
    flow.remove_seen(channel, [one.to_json() for one in flow.held_controls(channel)])


def test_what_nobody_could_take_is_told_again(
    databases: Databases, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    TOLD.clear()
    replica = make(databases, tmp_path, ask_before=["drop_column"], on_trouble=f"{HERE}:tell")
    replica.at_source("ALTER TABLE t DROP note")
    monkeypatch.setitem(DEAF, "is", True)
    assert "adapt" in cycle(replica) and TOLD == []
    assert "on_trouble" in caplog.text and "s3cret" not in caplog.text
    monkeypatch.setitem(DEAF, "is", False)
    cycle(replica)
    assert [one.level for one in TOLD if one.level == "waiting"] == ["waiting"]


PAGER = Pager("{{ trouble.channel }}: {{ trouble.sentence }}{{ ' is over' if trouble.is_over }}")


def test_a_notifier_gets_the_trouble_in_its_templates() -> None:
    listener = listener_of(f"{HERE}:PAGER")
    listener(Trouble("shop", "bad", "warehouse does not answer"), {"run_id": "by hand"})
    assert PAGER.sent == ["shop: warehouse does not answer"]


@pytest.mark.parametrize("name", ["no_such_module:tell", f"{HERE}:no_such_name"])
def test_a_listener_that_is_not_there(name: str) -> None:
    with pytest.raises(ConfigError, match="CFG-407"):
        listener_of(name)


def test_two_processes_tell_once(databases: Databases, tmp_path: Path) -> None:
    from datetime import UTC, datetime

    from airflow_ddlrepl.repository.repository import Repository

    replica = make(databases, tmp_path)
    location = f"sqlite:///{replica.file.parent}/repository.db"
    with Repository.open(location) as one, Repository.open(location) as other:
        now = datetime.now(UTC)
        assert [each.begin_trouble("shop", "k", now, {"a": 1}) for each in (one, other)] == [True, False]
        assert other.notified_troubles("shop") == {"k": {"a": 1}}
        assert [each.end_trouble("shop", "k") for each in (other, one)] == [True, False]
