"""Tasks that start no Spark app leave the reason of a failure as the others do: XCom `ddlrepl_error`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException

import airflow_ddlrepl
from airflow_ddlrepl.engines.postgres.target.rewind_area import Obstacles
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.flow.rewind.preview import RewindPlan
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.operators.controls import ExplainControlsOperator, RemoveControlsOperator
from airflow_ddlrepl.operators.rewind import PlanRewindOperator
from tests.airflow.support import shop
from tests.airflow.test_operators import RUN, Task


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
