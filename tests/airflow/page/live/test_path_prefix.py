"""Airflow behind a reverse proxy has a path before its own: pages, links, scripts and the login are found below it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.airflow.page.live.conftest import World
from tests.airflow.support import browser
from tests.airflow.support.api_server import ApiServer, api_server

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600), pytest.mark.xdist_group("page")]

PREFIX = "/tools/airflow"


@pytest.fixture(scope="module")
def behind(world: World) -> Iterator[ApiServer]:
    with api_server(world.home, PREFIX) as server:
        yield server


def test_the_pages_lead_to_each_other_below_the_prefix(behind: ApiServer) -> None:
    wrong: list[str] = []
    with browser.opened(behind.url, behind.token("vic"), width=1280) as page:
        page.on("response", lambda found: wrong.append(found.url) if found.status >= 400 else None)
        page.goto(f"{behind.url}/ddlrepl/")
        page.get_by_role("link", name="shop", exact=True).click()
        page.wait_for_url(f"**{PREFIX}/ddlrepl/channels/shop")
        assert page.evaluate("getComputedStyle(document.querySelector('.verdict')).borderStyle") != "none"
        page.locator("#tables").get_by_role("link", name="public.orders").click()
        page.wait_for_url(f"**{PREFIX}/ddlrepl/channels/shop/tables/*")
        page.get_by_role("link", name="Replication").first.click()
        page.wait_for_url(f"**{PREFIX}/ddlrepl/")
        page.goto(f"{behind.url}/ddlrepl/channels/shop-hr")
        asked = page.get_by_role("link", name="Open DAG ddlrepl__shop-hr__controls").first
        expect(asked).to_be_visible()
        assert asked.evaluate("one => one.href").endswith(f"{PREFIX}/dags/ddlrepl__shop-hr__controls")
        with page.expect_response(lambda one: one.url.endswith("/channels/shop-hr"), timeout=15_000) as again:
            page.wait_for_timeout(6000)  # it asks again by itself
        assert again.value.status == 200
        page.goto(f"{behind.url}/ddlrepl/dags/ddlrepl__shop__plan")
        page.wait_for_url(f"**{PREFIX}/ddlrepl/channels/shop")
    assert wrong == []


def test_the_menu_leads_to_the_page_below_the_prefix(behind: ApiServer) -> None:
    with browser.opened(behind.url, behind.token("vic"), width=1280) as page:
        page.goto(f"{behind.url}/")
        page.get_by_role("link", name="Replication").click()
        frame = page.frame_locator("iframe")
        frame.get_by_role("link", name="shop", exact=True).click()
        expect(frame.get_by_role("heading", name="shop", exact=True)).to_be_visible()
        expect(frame.locator("#verdict").get_by_text("Good").first).to_be_visible()


def test_who_is_not_logged_in_comes_to_the_login_below_the_prefix(behind: ApiServer) -> None:
    answer = behind.ask("/ddlrepl/channels/shop")
    to = {name.lower(): value for name, value in answer.headers.items()}["location"]
    assert answer.status == 302 and to.startswith("../../api/v2/auth/login?next=")
    assert f"next={PREFIX}/ddlrepl/channels/shop".replace("/", "%2F").replace("next%2F", "next=") in to or PREFIX in to
