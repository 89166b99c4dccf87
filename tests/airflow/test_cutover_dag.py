"""A person starts a cut-over in Airflow: a check, an approval, the switch; then every run fails."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowFailException

from airflow_ddlrepl import build_channel_dags
from airflow_ddlrepl.operators.capture import CaptureOperator
from airflow_ddlrepl.operators.cutover import CheckCutOverOperator, CutOverOperator
from tests.airflow.support import shop
from tests.airflow.test_by_hand import file, in_process, run
from tests.airflow.test_controls import Task

__all__ = ["file", "in_process"]


def test_a_check_fails_with_what_is_missing(file: Any, databases: Any) -> None:
    shop.run_sql(databases.source, ["CREATE INDEX by_note ON orders (note)"])
    task = Task()
    with pytest.raises(AirflowFailException, match=r"(?s)CUT-102: .*CUT-122 .*by_note"):
        CheckCutOverOperator(task_id="check", channel=str(file), compare="True").execute(
            {"run_id": "manual__1", "ti": task}
        )
    assert task.pushed["ddlrepl_error"]["code"] == "CUT-102"
    assert "| `CUT-122` | `warehouse` | indexes that it lacks | `public.orders: index by" in task.pushed["text"]


def test_it_switches_over_and_later_runs_fail(file: Any, databases: Any) -> None:
    shop.run_sql(databases.source, ["CREATE INDEX by_note ON orders (note)"])
    found, task = run(CheckCutOverOperator, file, accept="CUT-122", compare="True")
    assert [one["code"] for one in found["conditions"] if not one["is_met"]] == ["CUT-110", "CUT-122"]
    assert "Accepted: `CUT-122`." in task.pushed["text"]
    done, _ = run(CutOverOperator, file, accept="CUT-122", compare="True")
    assert (done["targets"], done["accepted"]) == (["warehouse"], ["CUT-122"])
    with pytest.raises(AirflowFailException, match="CUT-101"):
        run(CaptureOperator, file)
    assert shop.rows(databases.target, "orders") == shop.rows(databases.source, "orders")


def test_the_form_reaches_the_tasks(file: Any) -> None:
    dag = build_channel_dags(file)["ddlrepl__shop__cutover"]
    assert [task.task_id for task in dag.topological_sort()] == ["check", "approve", "cut_over"]
    check, switch = dag.get_task("check"), dag.get_task("cut_over")
    for task in (check, switch):
        task.render_template_fields({"params": {"accept": "CUT-122\nCUT-123", "compare": True}})
    assert check.arguments() == ["--compare"]
    assert switch.arguments() == ["--do", "--compare", "--accept=CUT-122", "--accept=CUT-123"]
    assert dag.get_task("approve").defaults == ["Reject"]
