"""An approval that waits for an answer in Airflow waits for a person on the page, for those who may read it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.airflow.page.live.conftest import World
from tests.airflow.support import browser

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600), pytest.mark.xdist_group("page")]

RUN = "manual__2026-11-27T12:00:00+00:00"
ASK = f"""
from datetime import UTC, datetime
from airflow.models.hitl import HITLDetail
from airflow.models.serialized_dag import SerializedDagModel
from airflow.utils.session import create_session
from airflow.utils.state import DagRunState
from airflow.utils.types import DagRunTriggeredByType, DagRunType

now = datetime.now(UTC)
with create_session() as session:
    for channel, state in (("shop-hr", "deferred"), ("turn", "success")):
        dag = SerializedDagModel.get_dag(f"ddlrepl__{{channel}}__controls", session=session)
        run = dag.create_dagrun(
            run_id={RUN!r}, run_type=DagRunType.MANUAL, state=DagRunState.RUNNING, logical_date=now, run_after=now,
            triggered_by=DagRunTriggeredByType.TEST, session=session,
        )
        (task,) = (one for one in run.get_task_instances(session=session) if one.task_id == "approve")
        task.state = state
        asked = {{"subject": "Remove <b>these</b> controls?", "options": ["Approve", "Reject"], "params": {{}}}}
        session.add(HITLDetail(ti_id=task.id, **asked))
"""


@pytest.fixture(scope="module", autouse=True)
def asked(world: World) -> None:
    """As Airflow leaves it: one task waits for an answer, another one was ended without an answer."""
    done = subprocess.run(
        [sys.executable, "-c", ASK], env=world.server.environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr[-3000:]


def approvals(world: World, channel: str) -> list[dict[str, Any]]:
    waiting = world.server.ask(f"/ddlrepl/api/channels/{channel}", "vic").json["waiting"]
    return [one for one in waiting if one["kind"] == "approval"]


def test_an_approval_is_listed_with_a_link_to_answer(world: World) -> None:
    (one,) = approvals(world, "shop-hr")
    assert (one["what"], bool(one["since"])) == ("Remove <b>these</b> controls?", True)
    assert approvals(world, "turn") == approvals(world, "shop") == []
    lines = {one["channel"]: one["waiting"] for one in world.server.ask("/ddlrepl/api/channels", "vic").json}
    assert (lines["shop-hr"], lines["shop"]) == (3, 0)  # a control and discarded rows besides
    with browser.opened(world.server.url, world.server.token("vic"), width=1280) as page:
        page.goto("/ddlrepl/channels/shop-hr")
        expect(page.locator("#waiting")).to_contain_text("Remove <b>these</b> controls?")
        page.get_by_role("link", name="Answer in Airflow").click()
        page.wait_for_url("**/dags/ddlrepl__shop-hr__controls/runs/*/tasks/approve/required_actions")
        expect(page.get_by_text("Remove <b>these</b> controls?").first).to_be_visible()


def test_who_may_not_read_the_dag_gets_no_approval(world: World) -> None:
    assert world.server.ask("/ddlrepl/api/channels/shop-hr", "sam").status == 404
    assert "these" not in world.server.ask("/ddlrepl/", "sam").body


def test_who_may_read_the_dag_but_not_its_approvals_gets_none(world: World) -> None:
    found = world.server.ask("/ddlrepl/api/channels/shop-hr", "una").json["waiting"]
    assert sorted(one["kind"] for one in found) == ["control", "discarded rows"]
    lines = {one["channel"]: one["waiting"] for one in world.server.ask("/ddlrepl/api/channels", "una").json}
    assert lines["shop-hr"] == 2
