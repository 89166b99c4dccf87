"""The page of a channel in a browser, with an API that answers what this test says."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from airflow_ddlrepl.plugin import content_policy
from tests.airflow.support import browser

NASTY = '<img src=x onerror="document.title=1">`|*'
BASE = "http://airflow.test/prefix"
RUN = "manual__1"
TABLES = [{"revision": 2, "table": NASTY, "state": "live"}]
STATUS = {"targets": {"warehouse": {"tables": TABLES, "position": "0/B"}}, "channel": "shop"}
SQL = {"target": "warehouse", "table": NASTY, "at": "0/A", "sql": f"ALTER TABLE {NASTY}"}
CHANGED = {"target": "warehouse", "table": NASTY, "from_revision": None, "to_revision": 2, "changes": ["create_table"]}
EVENT = {"timestamp": "2026-11-21T08:00:00Z", "source_run_id": RUN, "extra": {"changed": [CHANGED]}}
ANSWERS = {
    "dagRuns?": {"dag_runs": [{"dag_run_id": RUN}]},
    "xcomEntries/status": {"value": json.dumps(STATUS)},
    "xcomEntries/return_value": {"value": {"executed": [SQL]}},
    "/assets?": {"assets": [{"id": 1, "uri": "ddlrepl://shop/schema"}]},
    "/assets/events?": {"asset_events": [EVENT]},
}


def answering(answers: dict[str, Any], status: int = 200) -> Callable[[Route], None]:
    """The page itself, and the API under the path of `[api] base_url`."""

    def answer(route: Route) -> None:
        url = route.request.url
        if "/ddlrepl/channel" in url:
            text = (files("airflow_ddlrepl.plugin") / "channel.html").read_text(encoding="utf-8")
            policy = content_policy(text.encode()).decode()
            route.fulfill(body=text, content_type="text/html", headers={"content-security-policy": policy})
            return
        found = next((value for part, value in answers.items() if part in url and "/prefix/api/v2/" in url), None)
        code = status if status != 200 else 200 if found is not None else 404
        route.fulfill(status=code, json=found or {})

    return answer


def shown(page: Page, answers: dict[str, Any], status: int = 200) -> Page:
    page.goto("about:blank")
    page.route("**/*", answering(answers, status))
    page.goto(f"{BASE}/ddlrepl/channel?channel=shop#sql")
    expect(page.locator("#history-body")).not_to_have_text("…")
    return page


@pytest.mark.xdist_group("standalone")
def test_status_sql_and_history_are_shown_as_text() -> None:
    with browser.opened(BASE) as page:
        shown(page, ANSWERS)
        expect(page.locator("#sql-body").get_by_role("row", name=f"{RUN} warehouse")).to_contain_text(
            f"ALTER TABLE {NASTY}"
        )
        expect(page.locator("#status-body")).to_contain_text(NASTY)
        heads = [cell.inner_text() for cell in page.locator("#status-body th").all() if cell.inner_text()]
        assert heads == ["table", "state", "revision"]
        expect(page.locator("#history-body").get_by_role("row", name="2026-11-21 08:00:00")).to_contain_text("new → 2")
        link = page.locator("#sql-body a").first.get_attribute("href")
        assert link == f"/prefix/dags/ddlrepl__shop__replicate/runs/{RUN}"
        assert page.locator("img").count() == 0 and page.title() == "Channel shop"


@pytest.mark.xdist_group("standalone")
def test_a_script_that_is_not_the_page_s_own_does_not_run() -> None:
    with browser.opened(BASE) as page:
        shown(page, ANSWERS)
        page.evaluate(
            "document.body.append(Object.assign(document.createElement('script'), {text: 'document.title=1'}))"
        )
        assert page.title() == "Channel shop"


@pytest.mark.xdist_group("standalone")
def test_what_is_not_there_is_said() -> None:
    with browser.opened(BASE) as page:
        shown(page, {"dagRuns?": {"dag_runs": []}})
        expect(page.locator("#status-body")).to_contain_text("has left a status")
        expect(page.locator("#sql-body")).to_contain_text("no schema change")
        expect(page.locator("#history-body")).to_contain_text("no asset")
        page.unroute_all()
        shown(page, ANSWERS, 401)
        expect(page.locator("#status-body")).to_contain_text("Log in to Airflow")
