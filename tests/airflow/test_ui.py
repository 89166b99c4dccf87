"""Airflow's UI as a person sees it, in a browser: every form can be submitted, a broken channel file is shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from airflow_ddlrepl.demo.standalone import wait_for
from airflow_ddlrepl.errors import ControlStop
from tests.airflow.support import browser, shop
from tests.airflow.support.answering import Asked
from tests.airflow.support.shared import Shared
from tests.airflow.test_controls import BREAKS

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1500), pytest.mark.xdist_group("standalone")]

NEEDED = {"rewind": {"to": "0/1"}}
"""Fields that have no default, by kind of DAG."""

STOPS = "ALTER TABLE orders ALTER remark TYPE varchar(9) USING left(remark, 9)"
REPLICATE = "ddlrepl__ui__replicate"
UNUSABLE = "ddlrepl__typo.yaml__unusable"
TWO_LINES = "from airflow_ddlrepl import build_channel_dags\nglobals().update(build_channel_dags({folder!r}))\n"


@dataclass
class Ui:
    """An Airflow with the channel `ui` from a two-line file, whose folder has a file with a typo, too."""

    airflow: Asked
    page: Page
    channel: Path
    source: str
    target: str

    def dags(self) -> list[str]:
        """The channel's, and what a broken file has instead."""
        found = {str(dag["dag_id"]) for dag in self.ask("/api/v2/dags?limit=100")["dags"]}
        return sorted(name for name in found if name.startswith("ddlrepl__ui__") or name == UNUSABLE)

    def runs(self, dag_id: str) -> list[dict[str, object]]:
        found: list[dict[str, object]] = self.ask(f"/api/v2/dags/{dag_id}/dagRuns")["dag_runs"]
        return found

    def import_errors(self) -> list[dict[str, object]]:
        """Of files of bundles; waited for, since a bundle may be read later than the DAGs of another."""
        path = "/api/v2/importErrors"
        found: list[dict[str, object]] = wait_for(path, lambda: self.ask(path)["import_errors"], 120, lambda: None)
        return found

    def ask(self, path: str) -> Any:
        """What the API answers; on a busy machine not at once."""
        return wait_for(path, lambda: self.airflow.get(path), 120, lambda: None)

    def awaits_input(self, path: str) -> bool:
        """path: of the task, as `approvals` has it."""
        task = self.airflow.get(f"/api/v2/{path.format('dagRuns', 'taskInstances')}")
        return str((task or {}).get("state")) == "awaiting_input"


@pytest.fixture(scope="module")
def ui(shared_airflow: Shared) -> Iterator[Ui]:
    source, target, _ = shared_airflow.databases("ui")
    channel = write_channels(shared_airflow.home)
    shop.run_sql(source, shop.BEFORE)
    shop.activate(channel)
    with browser.opened(shared_airflow.airflow.url) as page:
        shared_airflow.airflow.wait_for_dag("ddlrepl__ui__replicate")
        yield Ui(shared_airflow.airflow, page, channel, source, target)


@pytest.fixture(scope="module")
def replicated(ui: Ui) -> str:
    """A run that has replicated schema changes; then a row is missing, and the target waits in front of a change."""
    shop.run_sql(ui.source, shop.CHANGES)
    assert browser.trigger(ui.page, REPLICATE, {}, unpause=True) == []
    run = str(ui.runs(REPLICATE)[0]["dag_run_id"])
    assert ui.airflow.wait_for_run(REPLICATE, run, 480) == "success", ui.airflow.task_logs()
    shop.run_sql(ui.target, ["DELETE FROM customers WHERE id = 2"])
    return run


@pytest.fixture(scope="module")
def position(ui: Ui, replicated: str) -> str:
    """Of the source's log, to go back to: before the change that the target waits in front of."""
    position = shop.position(ui.source)
    shop.run_sql(ui.source, ["INSERT INTO orders VALUES (60, 'later')", STOPS])
    with pytest.raises(ControlStop):
        shop.replicate(ui.channel)
    return position


def write_channels(home: Path) -> Path:
    """The channel's file, one with a typo beside it, the file for the DAGs folder, and one with a typo in a bundle."""
    channels, dags, bundle = home / "channels", home / "dags", home / "bundle"
    for folder in (channels, dags, bundle):
        folder.mkdir(exist_ok=True)
    file = shop.write_channel(channels, home, "ui", "ui_source", "ui_target", "ui_past")
    file.write_text(file.read_text().replace("adapt_ddl:\n", BREAKS))
    for folder, name in ((channels, "typo"), (bundle, "other")):
        (folder / f"{name}.yaml").write_text(f"channel: {name}\nsorce: 1\n")
    (dags / "channels.py").write_text(TWO_LINES.format(folder=str(channels)))
    return file


WITH_APPROVAL: dict[str, tuple[str, ...]] = {"rewind": (), "controls": (), "compare": ("repair",), "plan": ("ask",)}
"""DAGs that ask, and the boxes to check so that they do."""


@pytest.fixture(scope="module")
def approvals(ui: Ui, position: str) -> dict[str, str]:
    """Runs that were started by the form and wait for a person: the paths of their pages, by kind of DAG."""
    paths = {}
    for kind, boxes in WITH_APPROVAL.items():
        dag_id, fields = f"ddlrepl__ui__{kind}", {"to": position} if kind == "rewind" else {}
        assert browser.trigger(ui.page, dag_id, fields, boxes, unpause=True) == []
        (run,) = ui.runs(dag_id)
        paths[kind] = f"dags/{dag_id}/{{}}/{run['dag_run_id']}/{{}}/approve"
    for kind, path in paths.items():
        wait_for(f"approve of {kind}", lambda path=path: ui.awaits_input(path), 480, lambda: None)  # type: ignore[misc]
    return paths


def shown(ui: Ui, path: str) -> Page:
    """The page that asks for an approval."""
    ui.page.goto(f"/{path.format('runs', 'tasks')}/required_actions")
    expect(ui.page.get_by_role("button", name="Approve")).to_be_visible()
    expect(ui.page.get_by_role("heading", name="What will be lost")).to_be_visible()
    return ui.page


def test_tasks_link_to_the_page_of_their_channel(ui: Ui, replicated: str) -> None:
    """Status, SQL and history, as the run has left them."""
    ui.page.goto(f"/dags/{REPLICATE}/runs/{replicated}/tasks/adapt/details")
    for name in ("Channel status", "DDL history", "Executed SQL"):
        expect(ui.page.get_by_role("link", name=name)).to_be_visible()
    assert ui.page.get_by_role("link", name="Spark UI").count() == 0
    ui.page.goto(str(ui.page.get_by_role("link", name="Executed SQL").get_attribute("href")))
    sql = ui.page.frame_locator("iframe")
    expect(sql.get_by_role("heading", name=f"Executed SQL of {replicated}")).to_be_visible()
    expect(sql.get_by_role("heading", name="warehouse: public.orders")).to_be_visible()
    expect(sql.get_by_text('RENAME COLUMN "note" TO "remark"')).to_be_visible()
    ui.page.goto(f"/dags/{REPLICATE}/runs/{replicated}/tasks/adapt/details")
    ui.page.goto(str(ui.page.get_by_role("link", name="DDL history").get_attribute("href")))
    shown = ui.page.frame_locator("iframe")
    expect(shown.locator("#changes").get_by_text("ALTER TABLE orders RENAME COLUMN note TO remark")).to_be_visible()
    expect(shown.locator("#tables").get_by_role("row", name="public.customers")).to_be_visible()


def test_the_page_of_an_asset_names_its_producer(ui: Ui, replicated: str) -> None:
    for name in ("data", "schema"):
        (asset,) = ui.ask(f"/api/v2/assets?name_pattern=ddlrepl__ui__{name}")["assets"]
        producers = [(task["dag_id"], task["task_id"]) for task in asset["producing_tasks"]]
        assert producers == [(REPLICATE, "integrate")]
        events = ui.ask(f"/api/v2/assets/events?asset_id={asset['id']}")["asset_events"]
        assert [event["source_run_id"] for event in events] == [replicated]


def test_an_approval_of_a_rewind_can_be_read(ui: Ui, approvals: dict[str, str]) -> None:
    page = shown(ui, approvals["rewind"])
    browser.picture(page, "approve-rewind", 1400)
    expect(page.get_by_role("row", name="public.orders safe (keep) 50 at")).to_be_visible()
    blocks = page.locator("code.language-sql")
    assert [block.inner_text() for block in blocks.all()] == [shop.CHANGES[n] for n in (5, 1, 2)]
    assert page.get_by_role("link", name="log of the task plan").get_attribute("href")


def test_an_approval_of_controls_can_be_read(ui: Ui, approvals: dict[str, str]) -> None:
    page = shown(ui, approvals["controls"])
    browser.picture(page, "approve-controls", 1000)
    expect(page.get_by_role("row", name="1 warehouse")).to_be_visible()
    expect(page.locator("code.language-sql")).to_have_text(STOPS)
    lost = page.locator("strong, b", has_text="Rows that are at the target already may differ from the source")
    expect(lost).to_be_visible()


def test_an_approval_of_a_repair_can_be_read(ui: Ui, approvals: dict[str, str]) -> None:
    page = shown(ui, approvals["compare"])
    browser.picture(page, "approve-compare", 1000)
    expect(page.get_by_role("row", name="public.customers public.customers 1 0 0 0")).to_be_visible()
    expect(page.locator("strong, b", has_text="Rows deleted at the targets: 0, overwritten: 0")).to_be_visible()
    expect(page.locator("strong, b", has_text="Not at the targets yet")).to_be_visible()


def test_an_approval_of_a_plan_can_be_read(ui: Ui, approvals: dict[str, str]) -> None:
    page = shown(ui, approvals["plan"])
    browser.picture(page, "approve-plan", 1000)
    expect(page.get_by_role("row", name="public.orders public.orders")).to_be_visible()
    expect(page.locator("strong, b", has_text="control")).to_be_visible()


@pytest.mark.req("DC-07")
def test_every_form_is_submitted_with_its_defaults(ui: Ui) -> None:
    """All that a person has to fill in is what has no default; the run is there then, and the form has closed."""
    objections = {}
    for dag_id in ui.dags():
        fields = NEEDED.get(dag_id.rpartition("__")[2], {})
        before = len(ui.runs(dag_id))
        objections[dag_id] = browser.trigger(ui.page, dag_id, fields)
        assert objections[dag_id] or len(ui.runs(dag_id)) == before + 1, f"{dag_id}: no run was created"
    assert not any(objections.values()), objections
    assert {dag_id.rpartition("__")[2] for dag_id in objections} >= {"replicate", "enroll", "rewind", "controls"}


def test_a_field_without_a_default_is_asked_for(ui: Ui) -> None:
    assert browser.trigger(ui.page, "ddlrepl__ui__rewind", {}) == ["This field is required"]


def test_a_broken_channel_file_is_seen_and_stops_no_other(ui: Ui) -> None:
    """Of the two-line file as a DAG; of the bundle as an import error. Airflow's own DAG processor has read both."""
    assert {UNUSABLE, "ddlrepl__ui__replicate"} <= set(ui.dags())
    (error,) = ui.import_errors()
    assert (error["bundle_name"], error["filename"]) == ("ddlrepl", "refused.py")
    assert "other.yaml:2: unknown key sorce" in str(error["stack_trace"])
    ui.page.goto(f"/dags/{UNUSABLE}/docs")
    ui.page.goto("/dags?tags=unusable+channel+file")
    expect(ui.page.get_by_text("typo.yaml can't be used")).to_be_visible()
