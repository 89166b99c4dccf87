"""What is started beside the cycle: a plan, a refresh, a comparison, its repair, messages; and what adapt has run."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from airflow_ddlrepl import build_channel_dags, flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.dags.rewind import rewind_dag
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.operators.adapt_ddl import AdaptDDLOperator
from airflow_ddlrepl.operators.approve import ApproveWhenOperator
from airflow_ddlrepl.operators.base import DdlReplSparkOperator
from airflow_ddlrepl.operators.compare import CompareOperator, RepairOperator
from airflow_ddlrepl.operators.plan import PlanOperator
from airflow_ddlrepl.operators.refresh import IsolatedRefreshOperator
from airflow_ddlrepl.operators.streams.messages import DequeueOperator, EnqueueOperator, MessageSensor
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.spark.jobs.result_file import Outcome
from airflow_ddlrepl.spark.jobs.run_stage import run_stage
from tests.airflow.support import shop
from tests.airflow.test_controls import Task
from tests.conformance import places
from tests.flow.streams.messaging import BATTERY, CAPTURE, TYPES, channel, message_rule
from tests.flow.streams.streams_channel import streams_channel
from tests.support.replayable import HORIZON, captured

CHANGE = "ALTER TABLE orders ADD COLUMN price numeric(10, 2)"


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The app's work is done in this process."""

    def run_app(operator: DdlReplSparkOperator, place: Any, channel: Channel, context: Any) -> Outcome:
        summary = json.loads(json.dumps(operator.job(channel, str(context["run_id"]), InProcess()), default=str))
        return Outcome(operator.stage, channel.name, "run", 0.1, summary)

    monkeypatch.setattr(DdlReplSparkOperator, "_run_app", run_app)


@pytest.fixture
def file(databases: Any, tmp_path: Path, in_process: None) -> Iterator[Path]:
    """A channel that is activated, its 50 rows loaded."""
    file = shop.write_channel(tmp_path, tmp_path, "shop", databases.source, databases.target)
    shop.run_sql(databases.source, shop.BEFORE)
    shop.activate(file)
    yield file


def run(kind: Callable[..., Any], file: Path, **options: Any) -> tuple[Any, Task]:
    task = Task()
    return kind(task_id="stage", channel=str(file), **options).execute({"run_id": "manual__1", "ti": task}), task


def spoil(target: str) -> None:
    """One row each that is missing, extra and different."""
    shop.run_sql(target, [
        "DELETE FROM orders WHERE id = 7", "INSERT INTO orders VALUES (900, 'extra')",
        "UPDATE orders SET note = 'other' WHERE id = 9",
    ])  # fmt: skip


def test_a_comparison_that_differs_fails_with_what_differs(file: Path, databases: Any) -> None:
    found, _ = run(CompareOperator, file)
    assert (found["differences"], found["compared"], found["tables"]) == (0, 1, [])
    spoil(databases.target)
    task = Task()
    with pytest.raises(AirflowFailException, match=r"(?s)CMP-101: .*3 differences.*public\.orders: missing row \(7\)"):
        CompareOperator(task_id="compare", channel=str(file)).execute({"run_id": "manual__1", "ti": task})
    assert task.pushed["ddlrepl_error"]["code"] == "CMP-101"
    assert "| `public.orders` | `public.orders` | 1 | 1 | 1 | 0 |" in task.pushed["text"]
    assert shop.rows(databases.target, "orders") != shop.rows(databases.source, "orders")


def test_a_repair_is_shown_before_it_is_done(file: Path, databases: Any) -> None:
    spoil(databases.target)
    found, task = run(CompareOperator, file, on_difference="go_on")
    assert found["differences"] == 3 and [table["table"] for table in found["tables"]] == ["public.orders"]
    assert "**Rows deleted at the targets: 1, overwritten: 1**, in `public.orders`" in task.pushed["text"]
    assert "public.orders: different row (9) in note" in task.pushed["text"]
    repaired, _ = run(RepairOperator, file, tables="public.orders")
    assert (repaired["repaired"], repaired["differences"]) == (["public.orders"], 0)
    assert shop.rows(databases.target, "orders") == shop.rows(databases.source, "orders")


def test_what_a_difference_shall_do_has_two_values(file: Path) -> None:
    with pytest.raises(AirflowFailException, match=r"(?s)CFG-138: on_difference is 'ignore'.*fail or go_on"):
        run(CompareOperator, file, on_difference="ignore")


@pytest.mark.parametrize(
    "found",
    [
        {"differences": 0, "tables": [], "left_out": {"public.gen": "it has no key"}},
        {"differences": 1, "tables": [{"table": "public.t", "target": "public.t", "waits": True}], "left_out": {}},
    ],
)
def test_what_no_repair_can_do_fails_also_where_one_is_wanted(
    file: Path, monkeypatch: pytest.MonkeyPatch, found: dict[str, Any]
) -> None:
    """A table that could not be compared, and one that is not there yet."""
    counts = {"missing": 0, "extra": 0, "different": 0, "is_partial": False, "structure": ["no"], "differences": 1}
    tables = [counts | table for table in found["tables"]]
    summary = {"found": [], "rows": 0, **found, "tables": tables}
    monkeypatch.setattr(CompareOperator, "job", lambda *_: summary)
    with pytest.raises(AirflowFailException, match=r"CMP-101"):
        run(CompareOperator, file, on_difference="go_on")


def test_a_comparison_without_a_result_is_no_equal_one(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CompareOperator, "_run_app", lambda *_: None)
    with pytest.raises(AirflowFailException, match=r"(?s)CMP-102.*result_dir"):
        run(CompareOperator, file)


@pytest.mark.parametrize(
    ("wanted", "is_asked"), [("0", False), ("False", False), ("", False), ("3", True), ("True", True)]
)
def test_a_person_is_asked_where_there_is_something_to_decide(
    wanted: str, is_asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ApproveWhenOperator.__mro__[1], "execute", lambda *_: "asked")
    operator = ApproveWhenOperator(task_id="approve", subject="?", wanted=wanted)
    if is_asked:
        assert operator.execute({}) == "asked"
    else:
        with pytest.raises(AirflowSkipException, match="nothing to decide"):
            operator.execute({})


def test_a_plan_shows_the_sql_and_changes_nothing(file: Path, databases: Any) -> None:
    found, task = run(PlanOperator, file)
    assert found["changes"] == 0 and "Target `warehouse`: no schema change." in task.pushed["text"]
    shop.run_sql(databases.source, [CHANGE, "ALTER TABLE orders DROP COLUMN note"])
    found, task = run(PlanOperator, file)
    assert found["changes"] == 2 and list(found["targets"]) == ["warehouse"]
    assert '```sql\nALTER TABLE "public"."orders" ADD COLUMN "price" numeric(10,2);\n```' in task.pushed["text"]
    assert shop.rows(databases.target, "orders")[0] == ("id", "note")
    task = Task()
    with pytest.raises(AirflowFailException, match="CFG-100"):
        PlanOperator(task_id="plan", channel=str(file.with_name("other.yaml"))).execute({"run_id": "1", "ti": task})
    assert task.pushed["ddlrepl_error"]["code"] == "CFG-100"


def test_adapt_says_each_statement_with_its_target(
    file: Path, databases: Any, caplog: pytest.LogCaptureFixture
) -> None:
    shop.run_sql(databases.source, [CHANGE])
    run_stage("capture", load_channel(file), "one", InProcess())
    with caplog.at_level(logging.INFO, "ddlrepl"):
        found, _ = run(AdaptDDLOperator, file)
    (one,) = found["executed"]
    assert (one["target"], one["table"]) == ("warehouse", "public.orders")
    assert one["sql"] == 'ALTER TABLE "public"."orders" ADD COLUMN "price" numeric(10,2)'
    assert f"target warehouse: public.orders at {one['at']}: {one['sql']}" in caplog.text


def test_tables_that_the_file_isolates_have_a_dag_of_their_own(file: Path) -> None:
    assert "ddlrepl__shop__isolated_refresh" not in build_channel_dags(file)
    data = yaml.safe_load(file.read_text())
    data["adapt_ddl"] = [{"add_table_pattern": "*", "refresh_options": "-inow"}]
    file.write_text(yaml.safe_dump(data))
    task = build_channel_dags(file)["ddlrepl__shop__isolated_refresh"].get_task("refresh")
    assert (task.arguments(), task.pool) == (["--options=-inow"], "default_pool")
    assert run(IsolatedRefreshOperator, file)[0]["worked"] is False


def test_the_forms_reach_the_tasks(file: Path) -> None:
    dags = build_channel_dags(file)
    refresh = dags["ddlrepl__shop__refresh"].get_task("refresh")
    refresh.render_template_fields({"params": {"tables": "public.orders", "options": "-gr -v"}})
    assert refresh.arguments() == ["--table=public.orders", "--options=-gr -v"]
    for repair, then in ((False, "fail"), (True, "go_on")):
        compare = build_channel_dags(file)["ddlrepl__shop__compare"].get_task("compare")
        compare.render_template_fields({"params": {"tables": None, "repair": repair}})
        assert (compare.arguments(), compare.on_difference) == ([], then)
    repair_task = dags["ddlrepl__shop__compare"].get_task("repair")
    repair_task.render_template_fields({"params": {"tables": "public.orders", "repair": True}})
    assert repair_task.arguments() == ["--repair", "--table=public.orders"]
    plan = dags["ddlrepl__shop__plan"]
    assert plan.get_task("replicate").trigger_dag_id == "ddlrepl__shop__replicate"
    for kind in ("plan", "compare"):
        approve = dags[f"ddlrepl__shop__{kind}"].get_task("approve")
        assert approve.defaults == ["Reject"] and approve.response_timeout is not None


def context_of_task() -> Any:
    return {"ti": Task(), "run_id": "run"}


def test_messages_go_through_operators(databases: Any, tmp_path: Path) -> None:
    """The sensor sees a message once it is captured; what is too large for XCom, or fails there, stays."""
    hr = channel(tmp_path, databases.source, message_rule("c"))
    place: dict[str, Any] = {"channel": str(hr.file)}
    sensor = MessageSensor(task_id="wait", client="c", **place)
    assert sensor.poke(context_of_task()) is False
    enqueue = EnqueueOperator(task_id="enqueue", messages=[BATTERY["B9"], BATTERY["B10"]], **place)
    assert enqueue.execute(context_of_task()) == {"messages": 2, "queue": "q"}
    EnqueueOperator(task_id="text", messages=json.dumps(BATTERY["B9"]), **place).execute(context_of_task())
    hr.stage(flow.capture)
    assert sensor.poke(context_of_task()) is True
    with pytest.raises(AirflowFailException, match="MSG-105"):
        DequeueOperator(task_id="small", max_bytes=20, **place).execute(context_of_task())
    full = context_of_task()
    full["ti"].xcom_push = _no_room
    with pytest.raises(OSError, match="no room"):
        DequeueOperator(task_id="full", **place).execute(full)
    done = context_of_task()
    assert DequeueOperator(task_id="one", max_messages=1, **place).execute(done) == [BATTERY["B9"]]
    assert done["ti"].pushed == {"return_value": [BATTERY["B9"]]}
    assert DequeueOperator(task_id="others", **place).execute(context_of_task()) == [BATTERY["B9"]]
    assert sensor.poke(context_of_task()) is False


def _no_room(key: str, value: Any) -> None:
    raise OSError("no room")


@pytest.mark.parametrize(
    ("task", "code"),
    [
        (lambda file: EnqueueOperator(task_id="t", channel=file, messages="{"), "MSG-106"),
        (lambda file: EnqueueOperator(task_id="t", channel=file, messages=[{"type": "own.x"}]), "MSG-101"),
        (lambda file: DequeueOperator(task_id="t", channel=file, client="other"), "RUL-113"),
    ],
)
def test_tasks_that_fail_say_why(tmp_path: Path, task: Any, code: str) -> None:
    hr = streams_channel(tmp_path, "postgresql://app@127.0.0.1:1/x", CAPTURE, message_rule("c"), message_types=TYPES)
    where = context_of_task()
    with pytest.raises(AirflowFailException, match=code):
        task(str(hr.file)).execute(where)
    assert where["ti"].pushed["ddlrepl_error"]["code"] == code


def test_files_are_rewound_by_their_dag(databases: Any, tmp_path: Path, in_process: None) -> None:
    """The tasks that a person approves and starts, with a target and a replay that are DuckDB files."""
    replays = [{"name": "past", "location": f"duckdb://{tmp_path}/past.duckdb"}]
    place = places.duckdb(tmp_path, databases.source, replays=replays, rewind_horizon=HORIZON)
    place.replica.at_source("create table t (id int primary key, a text)", "insert into t values (1, 'x')")
    place.replica.activate()
    before = captured(place.replica)
    place.replica.at_source("alter table t drop a", "insert into t values (2)")
    place.replica.settle()
    dag = rewind_dag(load_channel(place.replica.file), place.replica.file)
    assert dag.params.get_param("into").schema["enum"] == ["past", "warehouse"]
    for into in ("past", "warehouse"):
        for name in ("plan", "rewind"):
            task: Any = dag.get_task(name)
            task.to, task.into, task.tables = before, into, ""
            task.execute({"run_id": "manual__1", "ti": Task()})
        if into == "past":
            assert places.file_rows(tmp_path / "past.duckdb", TableName("public", "t")) == [{"id": "1", "a": "x"}]
    place.replica.check_equal()
