"""Tasks that fail: for good or to be tried again, with the reason in XCom `ddlrepl_error`, also without a Spark app."""
# ruff: noqa: F811 - a fixture's name is a parameter of the tests that use it

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

import airflow_ddlrepl
from airflow_ddlrepl.engines.postgres.target.rewind_area import Obstacles
from airflow_ddlrepl.errors import ConfigError, ControlStop, DdlReplError, Unreachable
from airflow_ddlrepl.flow.rewind.preview import RewindPlan
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.operators.capture import CaptureOperator
from airflow_ddlrepl.operators.controls import ExplainControlsOperator, RemoveControlsOperator
from airflow_ddlrepl.operators.integrate import IntegrateOperator
from airflow_ddlrepl.operators.rewind import PlanRewindOperator
from tests.airflow.support import shop
from tests.airflow.test_operators import (  # noqa: F401 - three fixtures
    CHANNEL,
    RUN,
    Submitted,
    Task,
    channel,
    leaves,
    run,
    spark_submit,
    submitted,
    work_is,
)


@pytest.fixture
def replayable(tmp_path: Path) -> Path:
    places = [f"postgresql://db/{name}" for name in ("shop", "warehouse", "past")]
    return shop.write_channel(tmp_path, tmp_path, "shop", *places)


def test_a_plan_of_a_rewind_that_fails_leaves_its_reason(replayable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that can be made, and says that the rewind can't be."""
    stands = Obstacles((("table", TableName("public", "t")),))
    plan = RewindPlan("past", Position(1), Position(2), [], 1, 1, [], "", in_the_way=stands)
    outcomes: Iterator[RewindPlan | ConfigError] = iter([plan, ConfigError("no such place", code="CFG-132")])

    def planned(*_: Any) -> RewindPlan:
        outcome = next(outcomes)
        if isinstance(outcome, ConfigError):
            raise outcome
        return outcome

    flow = ModuleType("airflow_ddlrepl.flow")
    flow.RunContext, flow.plan_rewind = lambda *_: nullcontext(RUN), planned  # type: ignore[attr-defined]
    monkeypatch.setattr(airflow_ddlrepl, "flow", flow, raising=False)
    for code in ("REW-105", "CFG-132"):
        task = Task()
        operator = PlanRewindOperator(task_id="plan", channel=str(replayable), to="0/2", into="past")
        with pytest.raises(AirflowFailException, match=code):
            operator.execute({"run_id": "manual__1", "ti": task})
        assert task.pushed["ddlrepl_error"]["code"] == code and task.pushed["ddlrepl_error"]["hint"] is not None


@pytest.mark.parametrize("kind", [ExplainControlsOperator, RemoveControlsOperator])
def test_a_failure_of_the_controls_dag_leaves_its_reason(kind: Any, tmp_path: Path) -> None:
    task = Task()
    more: dict[str, Any] = {"controls": []} if kind is RemoveControlsOperator else {}
    with pytest.raises(AirflowFailException, match="CFG-100"):
        kind(task_id="it", channel=str(tmp_path / "nowhere.yaml"), **more).execute({"ti": task})
    assert task.pushed["ddlrepl_error"]["code"] == "CFG-100"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ControlStop("type changed on public.orders", code="CTL-101", hint="remove the control"), AirflowFailException),
        (Unreachable("no answer", code="CON-101", retryable=True), AirflowException),
    ],
)
def test_failures_fail_the_task_with_their_reason(
    error: DdlReplError, kind: type[Exception], channel: str, submitted: Submitted
) -> None:
    submitted.outcome, submitted.code = leaves(error), int(error.exit_code)
    task = Task()
    with pytest.raises(AirflowException) as caught:
        IntegrateOperator(task_id="stage", channel=channel).execute({"run_id": "manual__1", "ti": task})
    assert type(caught.value) is kind
    assert error.code in str(caught.value)
    assert task.pushed["ddlrepl_error"]["code"] == error.code
    assert task.pushed["ddlrepl_error"]["kind"] == type(error).__name__
    assert task.pushed["status"] == {"channel": "shop", "failures": [1]}  # the newest, whatever the task's end


def test_a_control_found_before_spark_fails_the_task(channel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: Any) -> bool:
        raise ControlStop("waits for a person", code="CTL-101", hint="ddlrepl controls remove")

    work_is(monkeypatch, stopped)
    with pytest.raises(AirflowFailException, match="CTL-101: waits for a person"):
        run(IntegrateOperator, channel)


def test_an_app_that_died_is_tried_again(channel: str, submitted: Submitted, spark_submit: str) -> None:
    submitted.code = 137
    with pytest.raises(AirflowException, match="Error code is: 137") as caught:
        run(CaptureOperator, channel)
    assert not isinstance(caught.value, AirflowFailException)


def test_a_typo_in_the_channel_file_is_not_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text(CHANNEL.replace("targets:", "target:"))
    with pytest.raises(AirflowFailException, match=r"shop.yaml:6: unknown key target"):
        run(CaptureOperator, str(path))


def test_mixed_spark_is_refused_with_the_fix(channel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow_ddlrepl.spark.session import installation

    monkeypatch.setattr(installation, "_version_file", lambda home: "4.2.0")
    told = r"(?s)CFG-402.*mixed with its Python files 4.2.0.*pip install.*pyspark=="
    with pytest.raises(AirflowFailException, match=told):
        run(CaptureOperator, channel)
