"""The operators: what they start, what they hide, what they return, how they fail."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

import airflow_ddlrepl
from airflow_ddlrepl.config.sections.location import resolve
from airflow_ddlrepl.errors import DdlReplError, DriverMissing
from airflow_ddlrepl.flow.reporting.asset_events import AssetEvents
from airflow_ddlrepl.flow.rewind.preview import RewindPlan
from airflow_ddlrepl.hooks import connections, local_app
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.operators.adapt_ddl import AdaptDDLOperator
from airflow_ddlrepl.operators.backfill import ReplayOperator
from airflow_ddlrepl.operators.base import DdlReplSparkOperator
from airflow_ddlrepl.operators.capture import CaptureOperator
from airflow_ddlrepl.operators.controls import ExplainControlsOperator, RemoveControlsOperator
from airflow_ddlrepl.operators.integrate import IntegrateOperator
from airflow_ddlrepl.operators.maintain import LakeMaintenanceOperator
from airflow_ddlrepl.operators.refresh import RefreshOperator
from airflow_ddlrepl.operators.rewind import PlanRewindOperator, RewindOperator
from airflow_ddlrepl.ports.positions import Positions
from airflow_ddlrepl.spark.jobs.result_file import Outcome
from airflow_ddlrepl.spark.session.settings import CONF_FILE

SECRET = "p@ss w0rd"
RUN = SimpleNamespace(positions=Positions())
"""As much of a run as the operators use."""
CHANNEL = """
channel: shop
source:
  location: shop_db
  tables: ["public.*"]
targets:
  - name: warehouse
    location: warehouse_db
spark:
  conf:
    spark.hadoop.fs.s3a.secret.key: =k3y
    spark.driver.memory: 3g
"""


@dataclass
class Submitted:
    """What a spark-submit, or an app, that never ran was given. conf: of an app that Python starts."""

    command: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    connections: dict[str, Any] = field(default_factory=dict)
    connections_mode: int = 0
    connections_file: str = ""
    properties: str = ""
    conf: dict[str, str] = field(default_factory=dict)
    conf_mode: int = 0
    outcome: Callable[[Path], None] = lambda path: None
    code: int = 0

    def option(self, name: str) -> str:
        """Its value: the word after it, as spark-submit takes options, or what follows in the same word."""
        for word, following in zip(self.command, [*self.command[1:], ""], strict=True):
            if word == name:
                return following
            if word.startswith(f"{name}="):
                return word.split("=", 1)[1]
        raise AssertionError(f"{self.command} has no {name}")


@dataclass
class Task:
    """As much of a task instance as the operators use."""

    pushed: dict[str, Any] = field(default_factory=dict)

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed[key] = value


def work_is(monkeypatch: pytest.MonkeyPatch, has_work: Callable[..., Any]) -> None:
    """Stands in for the flow: these tests are about what the operator does with its answer."""
    flow = ModuleType("airflow_ddlrepl.flow")
    flow.do_here = has_work  # type: ignore[attr-defined]
    flow.wait_for_turn = lambda *_: None  # type: ignore[attr-defined]

    def new_events(channel: Any, **_: Any) -> AssetEvents:
        return AssetEvents({"channel": channel.name, "targets": {}, "left_out": [], "setup": {}}, None, None)

    flow.last_status = lambda channel: {"channel": channel.name, "failures": [1]}  # type: ignore[attr-defined]
    flow.new_events = new_events  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "airflow_ddlrepl.flow", flow)
    monkeypatch.setattr(airflow_ddlrepl, "flow", flow, raising=False)


@pytest.fixture
def channel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    for name in ("shop_db", "warehouse_db"):
        told = {"conn_type": "postgres", "host": "db", "login": "app", "password": SECRET, "schema": name}
        monkeypatch.setenv(f"AIRFLOW_CONN_{name.upper()}", json.dumps(told))
    work_is(monkeypatch, lambda channel, stage, *_: True)
    path = tmp_path / "shop.yaml"
    path.write_text(CHANNEL)
    return str(path)


@pytest.fixture
def submitted(monkeypatch: pytest.MonkeyPatch) -> Submitted:
    """Replaces the process that spark-submit, or the app that Python starts, would be."""
    seen = Submitted()
    monkeypatch.setattr(local_app, "can_fork", lambda: False)

    class Process:
        stdout = ()

        def __init__(self, command: list[str], env: dict[str, str] | None = None, **_: Any) -> None:
            seen.command, seen.environment = command, env or dict(os.environ)
            seen.connections_file = seen.environment.get("DDLREPL_CONNECTIONS_FILE", "")
            file = Path(seen.connections_file)
            seen.connections, seen.connections_mode = json.loads(file.read_text()), stat.S_IMODE(file.stat().st_mode)
            if CONF_FILE in seen.environment:
                conf = Path(seen.environment[CONF_FILE])
                seen.conf, seen.conf_mode = json.loads(conf.read_text()), stat.S_IMODE(conf.stat().st_mode)
            else:
                seen.properties = Path(seen.option("--properties-file")).read_text()
            seen.outcome(Path(seen.option("--result")))

        def wait(self) -> int:
            return seen.code

    real = subprocess.Popen

    def start(command: list[str], **options: Any) -> Any:
        ours = str(command[0]).endswith("spark-submit") or "spark_apps" in " ".join(map(str, command[:2]))
        return (Process if ours else real)(command, **options)

    monkeypatch.setattr(subprocess, "Popen", start)
    return seen


def leaves(error: DdlReplError | None = None, **summary: Any) -> Callable[[Path], None]:
    return Outcome("capture", "shop", "run", 1.5, summary, error).write


def run(kind: type[DdlReplSparkOperator], channel: str, of: str = "manual", **options: Any) -> tuple[Any, Task]:
    """of: the type of the DAG run."""
    task, end = Task(), datetime(2026, 11, 21, 8, tzinfo=UTC)
    context = {"run_id": f"{of}__1", "ti": task, "dag_run": SimpleNamespace(run_type=of), "data_interval_end": end}
    return kind(task_id="stage", channel=channel, **options).execute(context), task


REPLAYS = "rewind_horizon: {age: 7d}\nreplays: [{name: past, location: past_db}]\n"


@pytest.fixture
def replayable(channel: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("AIRFLOW_CONN_PAST_DB", "postgres://db/past")
    Path(channel).write_text(CHANNEL + REPLAYS)
    return channel


def test_what_a_statement_says_stays_in_its_place_in_a_plan(replayable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person reads the plan as Markdown."""
    table = {"table": "public.t", "verdict": "safe (keep)", "reason": "", "rows": 1, "loaded_at": "0/1"}
    tables = [{**table, "changes": ["0/2 ALTER TABLE t ADD a int /* ``` # Approve */"]}]
    plan = RewindPlan("past", Position(1), Position(2), tables, 1, 1, [], "")
    flow = ModuleType("airflow_ddlrepl.flow")
    flow.RunContext, flow.plan_rewind = lambda *_: nullcontext(RUN), lambda *_: plan  # type: ignore[attr-defined]
    monkeypatch.setattr(airflow_ddlrepl, "flow", flow, raising=False)
    task = Task()
    operator = PlanRewindOperator(task_id="plan", channel=replayable, to="0/2", into="past")
    assert operator.execute({"run_id": "manual__1", "ti": task})["tables"] == tables
    assert "\n````sql\nALTER TABLE t ADD a int /* ``` # Approve */\n````\n" in task.pushed["text"]


@pytest.fixture(params=["cluster", "always"])
def spark_submit(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """`[ddlrepl] spark_submit`; the Spark of these tests is a local one."""
    monkeypatch.setenv("AIRFLOW__DDLREPL__SPARK_SUBMIT", request.param)
    return str(request.param)


def test_no_secret_on_the_command_line_nor_in_a_public_place(
    channel: str, submitted: Submitted, spark_submit: str
) -> None:
    submitted.outcome = leaves(rows=3)
    run(CaptureOperator, channel)
    assert SECRET not in " ".join(submitted.command)
    assert "k3y" not in " ".join(submitted.command)
    assert submitted.connections["shop_db"]["password"] == SECRET
    assert submitted.connections_mode == 0o600
    assert not Path(submitted.connections_file).exists()
    assert "DDLREPL_CONNECTIONS_FILE" not in os.environ
    assert not Path(submitted.option("--result")).exists()


def test_the_app_understands_the_connections_file(channel: str, submitted: Submitted, tmp_path: Path) -> None:
    submitted.outcome = leaves()
    run(CaptureOperator, channel)
    again = tmp_path / "connections"
    again.write_text(json.dumps(submitted.connections))
    again.chmod(0o600)
    patch = pytest.MonkeyPatch()
    with patch.context() as context:
        context.delenv("AIRFLOW_CONN_SHOP_DB")
        context.setenv("DDLREPL_CONNECTIONS_FILE", str(again))
        assert resolve("shop_db") == "postgresql://app:p%40ss%20w0rd@db/shop_db"


def test_connections_of_airflow_alone(channel: str, submitted: Submitted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that an environment variable names, and that of the repository, which the tasks about controls need."""
    monkeypatch.setenv("SHOP", "kept_shop")
    text = CHANNEL.replace("shop_db", "${SHOP}") + "repository: kept_repository\n"
    Path(channel).write_text(text)

    class Kept:
        conn_type, host, login, password, port, schema, extra = "postgres", "kept", None, SECRET, None, None, None

    monkeypatch.setattr(connections, "find_connection", lambda name: Kept if name.startswith("kept") else None)
    submitted.outcome = leaves()
    run(CaptureOperator, channel)
    found = {name for name, fields in submitted.connections.items() if fields}
    assert found == {"kept_repository", "kept_shop"}
    flow, resolved = sys.modules["airflow_ddlrepl.flow"], []

    def asked(channel: Any, *_: Any) -> list[Any]:
        resolved.append(resolve(channel.repository))
        return []

    flow.held_controls = flow.remove_seen = asked  # type: ignore[attr-defined]
    ExplainControlsOperator(task_id="explain", channel=channel).execute({"ti": Task()})
    RemoveControlsOperator(task_id="remove", channel=channel, controls=[]).execute({"ti": Task()})
    assert resolved == ["postgresql://:p%40ss%20w0rd@kept"] * 2


def test_returns_what_the_app_did(channel: str, submitted: Submitted, caplog: pytest.LogCaptureFixture) -> None:
    submitted.outcome = leaves(rows=1200, ddl={"ALTER TABLE": 2}, drift=0)
    told, _ = run(CaptureOperator, channel)
    assert told == {
        "stage": "capture", "channel": "shop", "worked": True, "rows": 1200, "ddl": {"ALTER TABLE": 2}, "drift": 0,
    }  # fmt: skip
    assert json.loads(json.dumps(told)) == told


def test_maintenance_that_leaves_a_table_is_tried_again(channel: str, submitted: Submitted) -> None:
    """It is no failure for good: somebody else has written to the table meanwhile."""
    submitted.outcome = leaves(tables={"lake public.a": {"expired": 1}}, left={"lake public.b": "TGT-112 written to"})
    with pytest.raises(Exception, match=r"TGT-112: .*lake public\.b: TGT-112 written to") as raised:
        run(LakeMaintenanceOperator, channel)
    assert not isinstance(raised.value, AirflowFailException)


@pytest.mark.parametrize("kind", [CaptureOperator, AdaptDDLOperator, RefreshOperator, IntegrateOperator])
def test_nothing_to_do_starts_no_spark(
    kind: type[DdlReplSparkOperator], channel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(SparkSubmitHook, "submit", refuse)
    monkeypatch.setattr(local_app.LocalAppHook, "submit", refuse)
    asked = []
    work_is(monkeypatch, lambda channel, stage, *_: asked.append(stage))
    told, _ = run(kind, channel)
    assert told == {"stage": kind.stage, "channel": "shop", "worked": False}
    assert asked == [kind.stage]


@pytest.mark.parametrize(
    "error",
    [
        ModuleNotFoundError("No module named 'psycopg'", name="psycopg"),
        DriverMissing("DuckDB is not installed", code="CON-113", hint="pip install 'airflow-ddlrepl[duckdb]'"),
    ],
    ids=["psycopg", "duckdb"],
)
def test_a_worker_without_driver_lets_the_app_look(
    channel: str, submitted: Submitted, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def missing(*_: Any) -> bool:
        raise error

    work_is(monkeypatch, missing)
    submitted.outcome = leaves(rows=1)
    assert run(CaptureOperator, channel)[0]["rows"] == 1


@pytest.mark.parametrize("kind", [CaptureOperator, AdaptDDLOperator, RefreshOperator, IntegrateOperator])
def test_a_backfill_leaves_the_targets_alone(kind: type[DdlReplSparkOperator], replayable: str) -> None:
    with pytest.raises(AirflowSkipException, match="DAG ddlrepl__shop__replay"):
        run(kind, replayable, "backfill")


def test_a_backfill_of_a_channel_without_replays_fails_at_once(channel: str) -> None:
    with pytest.raises(AirflowFailException, match=r"(?s)CFG-133.*`replays`"):
        run(CaptureOperator, channel, "backfill")


@pytest.mark.parametrize("of", ["scheduled", "manual"])
def test_only_a_backfill_replays(of: str, replayable: str) -> None:
    with pytest.raises(AirflowSkipException, match="no backfill"):
        run(ReplayOperator, replayable, of, into="past")


def test_a_backfill_goes_on_to_the_end_of_its_interval(replayable: str, submitted: Submitted) -> None:
    submitted.outcome = leaves(rows=3)
    result, _ = run(ReplayOperator, replayable, "backfill", into="past")
    assert result["rows"] == 3
    assert (submitted.option("--to"), submitted.option("--into")) == ("2026-11-21T08:00:00+00:00", "past")
    assert "--onward" in submitted.command


def test_a_backfill_never_goes_into_a_target(replayable: str) -> None:
    with pytest.raises(AirflowFailException, match=r"(?s)CFG-132: the channel has no replay warehouse.*one of past"):
        run(ReplayOperator, replayable, "backfill", into="warehouse")


def test_a_refresh_that_is_asked_for_looks_for_no_work(
    channel: str, submitted: Submitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    work_is(monkeypatch, lambda *_: False)
    submitted.outcome = leaves(rows=3)
    result, _ = run(RefreshOperator, channel, tables="public.a\n public.b ", options="-gr -v")
    assert result["rows"] == 3 and {"tables", "options"} <= set(RefreshOperator.template_fields)
    start = submitted.command.index("--table=public.a")
    assert submitted.command[start : start + 3] == ["--table=public.a", "--table=public.b", "--options=-gr -v"]


@pytest.mark.parametrize("kind", [RefreshOperator, RewindOperator, PlanRewindOperator])
@pytest.mark.parametrize("tables", ["orders", "public.a, public.b"])
def test_a_table_that_is_no_pattern_fails_the_task_for_good(kind: Any, tables: str, replayable: str) -> None:
    flow = sys.modules["airflow_ddlrepl.flow"]
    flow.RunContext, flow.plan_rewind = lambda *_: nullcontext(RUN), lambda *_: pytest.fail("planned")  # type: ignore[attr-defined]
    where = {} if kind is RefreshOperator else {"to": "0/2", "into": "past"}
    operator = kind(task_id="stage", channel=replayable, tables=tables, **where)
    with pytest.raises(AirflowFailException, match=f"CFG-112: table '{tables}' is not of the form schema.table"):
        operator.execute({"run_id": "manual__1", "ti": Task()})


def test_a_run_with_nothing_to_do_names_what_is_left_out_and_who_waits(
    channel: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    work_is(monkeypatch, lambda channel, stage, *_: False)
    left_out = [{"table": "public.t", "since": "0/17A", "why": "it is unlogged"}]
    targets = {"lake": {"waits_until": "2026-11-21T08:15:00+00:00"}, "warehouse": {"waits_until": None}}
    found = {"channel": "shop", "targets": targets, "left_out": left_out, "setup": {}}
    news = AssetEvents(found, None, None)
    monkeypatch.setattr(sys.modules["airflow_ddlrepl.flow"], "new_events", lambda channel, run_id: news)
    task = Task()
    IntegrateOperator(task_id="stage", channel=channel).execute({"run_id": "manual__1", "ti": task})
    assert task.pushed["status"]["left_out"] == left_out
    said = "public.t is left out since 0/17A, its rows do not reach the targets: it is unlogged"
    printed = capsys.readouterr().out
    assert said in printed
    assert "target lake waits until 2026-11-21T08:15:00+00:00" in printed and "target warehouse" not in printed
