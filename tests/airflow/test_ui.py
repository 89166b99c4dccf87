"""Airflow's UI as a person sees it, in a browser: every form can be submitted, a broken channel file is shown."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.demo.standalone import wait_for
from airflow_ddlrepl.errors import ControlStop
from tests.airflow import browser, shop
from tests.airflow.asked import Asked
from tests.airflow.conftest import BUNDLES, airflow_environment
from tests.airflow.test_controls import BREAKS

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600), pytest.mark.xdist_group("standalone")]

FOLDER = {"name": "dags-folder", "classpath": "airflow.dag_processing.bundles.local.LocalDagBundle", "kwargs": {}}
DATABASES = ("ui_source", "ui_target", "ui_past", "ui_airflow")
CONNECTIONS = ("AIRFLOW_CONN_UI_SOURCE", "AIRFLOW_CONN_UI_TARGET", "AIRFLOW_CONN_UI_PAST")
NEEDED = {"rewind": {"to": "0/1"}}
"""Fields that have no default, by kind of DAG."""

STOPS = "ALTER TABLE orders ALTER remark TYPE varchar(9) USING left(remark, 9)"
UNUSABLE = "ddlrepl__typo.yaml__unusable"
TWO_LINES = "from airflow_ddlrepl import build_channel_dags\nglobals().update(build_channel_dags({folder!r}))\n"


@dataclass
class Ui:
    """An Airflow with the channel `ui` from a two-line file, whose folder has a file with a typo, too."""

    airflow: Asked
    page: Page
    channel: Path
    position: str
    """Of the source's log, to go back to: after two schema changes."""

    def dags(self) -> list[str]:
        return sorted(dag["dag_id"] for dag in self.airflow.get("/api/v2/dags")["dags"])

    def runs(self, dag_id: str) -> list[dict[str, object]]:
        found: list[dict[str, object]] = self.airflow.get(f"/api/v2/dags/{dag_id}/dagRuns")["dag_runs"]
        return found


@pytest.fixture(scope="module")
def ui(pg18: PrivateServer) -> Iterator[Ui]:
    source, target, past, metadata = map(pg18.create_database, DATABASES)
    with tempfile.TemporaryDirectory(prefix="ddlrepl-ui-") as folder, pytest.MonkeyPatch.context() as patch:
        home, connections = Path(folder), dict(zip(CONNECTIONS, (source, target, past), strict=True))
        environment = airflow_environment(home, home / "bundle")
        del environment["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"]
        environment["AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST"] = json.dumps([*BUNDLES, FOLDER])
        for name, value in connections.items():
            patch.setenv(name, value)
        channel = write_channels(home)
        position = history(source, channel)
        with Asked(home, metadata, environment | connections) as airflow, browser.opened(airflow.url) as page:
            airflow.wait_for_dag("ddlrepl__ui__replicate")
            yield Ui(airflow, page, channel, position)
    for database in DATABASES:
        pg18.drop_database(database)


def history(source: str, channel: Path) -> str:
    """Rows and schema changes that were replicated, then one that a target waits in front of; where those end."""
    shop.run_sql(source, shop.BEFORE)
    shop.activate(channel)
    shop.run_sql(source, shop.CHANGES)
    shop.replicate(channel)
    position = shop.position(source)
    shop.run_sql(source, ["INSERT INTO orders VALUES (60, 'later')", STOPS])
    with pytest.raises(ControlStop):
        shop.replicate(channel)
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


def approval(ui: Ui, kind: str, fields: dict[str, str]) -> Page:
    """The page that asks for the approval of a run that was started by the form."""
    dag_id = f"ddlrepl__ui__{kind}"
    assert browser.trigger(ui.page, dag_id, fields, unpause=True) == []
    (run,) = ui.runs(dag_id)
    task = f"/api/v2/dags/{dag_id}/dagRuns/{run['dag_run_id']}/taskInstances/approve"

    def waits() -> bool:
        return str((ui.airflow.get(task) or {}).get("state")) == "awaiting_input"

    wait_for(f"approve of {dag_id}", waits, 120, lambda: None)
    ui.page.goto(f"/dags/{dag_id}/runs/{run['dag_run_id']}/tasks/approve/required_actions")
    expect(ui.page.get_by_role("button", name="Approve")).to_be_visible()
    return ui.page


def test_an_approval_of_a_rewind_can_be_read(ui: Ui) -> None:
    page = approval(ui, "rewind", {"to": ui.position})
    browser.picture(page, "approve-rewind", 1400)
    expect(page.get_by_role("heading", name="What will be lost")).to_be_visible()
    expect(page.get_by_role("row", name="public.orders safe (keep) 50 at")).to_be_visible()
    blocks = page.locator("code.language-sql")
    assert [block.inner_text() for block in blocks.all()] == [shop.CHANGES[n] for n in (5, 1, 2)]
    assert page.get_by_role("link", name="log of the task plan").get_attribute("href")


def test_an_approval_of_controls_can_be_read(ui: Ui) -> None:
    page = approval(ui, "controls", {})
    browser.picture(page, "approve-controls", 1000)
    expect(page.get_by_role("row", name="1 warehouse")).to_be_visible()
    expect(page.locator("code.language-sql")).to_have_text(STOPS)
    lost = page.locator("strong, b", has_text="Rows that are at the target already may differ from the source")
    expect(lost).to_be_visible()


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
    (error,) = ui.airflow.get("/api/v2/importErrors")["import_errors"]
    assert (error["bundle_name"], error["filename"]) == ("ddlrepl", "refused.py")
    assert "other.yaml:2: unknown key sorce" in error["stack_trace"]
    ui.page.goto(f"/dags/{UNUSABLE}/docs")
    ui.page.goto("/dags?tags=unusable+channel+file")
    expect(ui.page.get_by_text("typo.yaml can't be used")).to_be_visible()
