"""The pages in a browser: in Airflow's menu and tabs, in both themes, at both widths, by keyboard, with axe-core."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from airflow_ddlrepl.errors import ControlStop
from tests.airflow.page.live.conftest import NASTY, World
from tests.airflow.support import browser, shop

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900), pytest.mark.xdist_group("page")]

WIDE, NARROW = 1280, 390
REFRESHED = 15_000
"""Milliseconds: a page asks every 5 s."""


@pytest.fixture
def page(world: World) -> Iterator[Page]:
    with browser.opened(world.server.url, world.server.token("vic"), width=WIDE) as found:
        yield found


def paths(world: World) -> list[str]:
    tables = world.server.ask("/ddlrepl/api/channels/shop/tables", "vic").json["tables"]
    nasty = next(one["table_id"] for one in tables if NASTY in one["table"])
    channels = [f"/ddlrepl/channels/{name}" for name in world.files]
    of_shop = [f"/ddlrepl/channels/shop/tables/{nasty}", "/ddlrepl/channels/shop/runs/first"]
    stopped = world.server.ask("/ddlrepl/api/channels/shop-hr/tables", "vic").json["tables"]
    waiting = [f"/ddlrepl/channels/shop-hr/tables/{one['table_id']}" for one in stopped]
    return ["/ddlrepl/", *channels, *of_shop, *waiting, "/ddlrepl/channels/absent"]


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_and_nothing_is_wider_than_the_screen(world: World, theme: Any, width: int) -> None:
    with browser.opened(world.server.url, world.server.token("vic"), theme, width) as page:
        for path in paths(world):
            page.goto(path)
            expect(page.locator("h1")).to_be_visible()
            for details in page.locator("summary").all():
                details.click()
            found = Axe().run(page).response["violations"]
            assert [(one["id"], one["impact"], one["nodes"][0]["html"][:200]) for one in found] == [], path
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        if theme == "dark":
            background = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert background != "rgb(255, 255, 255)"


def test_the_menu_leads_to_the_channels_and_each_has_an_address_of_its_own(world: World, page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name="Replication").click()
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("link", name="shop", exact=True)).to_be_visible()
    browser.picture(page, "replication-channels", 620, WIDE)
    frame.get_by_role("link", name="shop", exact=True).click()
    expect(frame.get_by_role("heading", name="shop", exact=True)).to_be_visible()
    page.wait_for_url("**/plugin/replication/ddlrepl/channels/shop")
    page.reload()
    expect(frame.locator("#verdict").get_by_text("Good").first).to_be_visible()
    browser.picture(page, "channel-page", 1250, WIDE)
    frame.get_by_role("link", name="Runs of ddlrepl__shop__replicate in Airflow").click()
    page.wait_for_url("**/dags/ddlrepl__shop__replicate")
    expect(page.locator("iframe")).to_have_count(0)


def test_the_page_of_a_dag_has_a_tab_with_its_channel(page: Page) -> None:
    page.goto("/dags/ddlrepl__shop-hr__controls")
    page.locator("a[href$='/plugin/ddlrepl']").click()
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("heading", name="shop-hr", exact=True)).to_be_visible()
    expect(frame.locator("#verdict").get_by_text("Waits for a person").first).to_be_visible()


def test_the_theme_is_airflow_s(page: Page) -> None:
    """Also when the browser prefers the other one, and when it changes while the page is open."""
    page.goto("/")
    page.evaluate("localStorage.setItem('theme', 'dark')")
    page.goto("/plugin/replication")
    root = page.frame_locator("iframe").locator("html")
    expect(root).to_have_attribute("data-theme", "dark")
    page.evaluate("document.documentElement.classList.replace('dark', 'light')")
    expect(root).to_have_attribute("data-theme", "light")
    page.goto("/ddlrepl/")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_a_page_tells_what_happens_without_being_loaded_again(world: World, page: Page) -> None:
    """It was good; then the target waits for a person. What was opened and marked on the page stays so."""
    page.goto("/ddlrepl/channels/turn")
    expect(page.locator("#verdict .sentence").first).to_contain_text("Good")
    page.locator("#chart-1-summary").click()
    page.evaluate("window.same = true")
    shop.run_sql(world.url("turn", "source"), ["ALTER TABLE orders DROP COLUMN note"])
    with pytest.raises(ControlStop):
        shop.replicate(world.files["turn"])
    expect(page.locator("#verdict .sentence").first).to_contain_text("Waits for a person", timeout=REFRESHED)
    expect(page.locator("#waiting")).to_contain_text("drop_column note")
    expect(page.locator("#changes")).to_contain_text("ALTER TABLE orders DROP COLUMN note")
    assert page.locator("#chart-1-numbers").get_attribute("open") is not None
    assert page.evaluate("window.same")


def test_a_page_that_can_not_be_asked_again_says_of_when_it_is(page: Page) -> None:
    page.goto("/ddlrepl/channels/shop")
    page.route("**/ddlrepl/channels/shop", lambda route: route.abort())
    expect(page.locator("#stale")).to_contain_text("What you see is of", timeout=REFRESHED)
    page.unroute_all()
    expect(page.locator("#stale")).to_be_hidden(timeout=REFRESHED)
    page.context.clear_cookies()
    expect(page.locator("#stale")).to_contain_text("logged out", timeout=REFRESHED)


def test_names_and_statements_of_a_source_are_text(world: World, page: Page) -> None:
    seen: list[str] = []
    page.on("dialog", lambda dialog: dialog.dismiss())
    page.on("request", lambda request: seen.append(request.url))
    for path in paths(world):
        page.goto(path)
        assert page.evaluate("typeof pwned") == "undefined"
        assert page.locator("img").count() == 0
        assert "1337" not in page.locator("body").inner_text()
    page.goto("/ddlrepl/channels/shop")
    expect(page.locator("#tables").get_by_text(NASTY)).to_be_visible()
    expect(page.locator("#changes").get_by_text(NASTY).first).to_be_visible()
    page.wait_for_timeout(6000)  # it has asked again
    assert page.evaluate("typeof pwned") == "undefined" and page.locator("img").count() == 0
    assert [url for url in seen if not url.startswith(f"{world.server.url}/ddlrepl/")] == []
    page.evaluate("document.body.append(Object.assign(document.createElement('script'), {text: 'document.title=1'}))")
    assert page.title() == "shop · Replication"


def test_the_page_is_used_by_keyboard(page: Page) -> None:
    page.goto("/ddlrepl/channels/shop")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.get_by_label("Name contains").focus()
    page.keyboard.type("custom")
    expect(page.locator("#tables tbody tr")).to_have_count(1)
    expect(page.locator("#tables tbody")).to_contain_text("public.customers")
    page.wait_for_timeout(6000)
    expect(page.get_by_label("Name contains")).to_be_focused()
    assert page.url.endswith("?q=custom")
    page.goto("/ddlrepl/channels/shop-hr")
    page.locator("#channel-command-copy").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#channel-command-copy")).to_have_text(re.compile("Copied|Ctrl"))
    expect(page.get_by_role("link", name="Open DAG ddlrepl__shop-hr__controls").first).to_have_attribute(
        "href", "../../dags/ddlrepl__shop-hr__controls"
    )


def test_a_table_has_a_timeline(world: World, page: Page) -> None:
    page.goto("/ddlrepl/channels/shop")
    page.locator("#tables").get_by_role("link", name="public.orders").click()
    steps = page.locator(".timeline > li")
    expect(steps).to_have_count(3)
    expect(steps.nth(0)).to_contain_text("ALTER TABLE orders RENAME COLUMN note TO remark")
    expect(steps.nth(0)).to_contain_text("warehouse: sql, done")
    expect(steps.nth(1)).to_contain_text("ADD COLUMN price")
    expect(steps.nth(2)).to_contain_text("load, done")
    browser.picture(page, "replication-table", 900, WIDE)


def test_a_table_has_its_plan_and_the_rows_in_error_queues(world: World, page: Page) -> None:
    page.goto("/ddlrepl/channels/shop-hr")
    expect(page.locator("#waiting")).to_contain_text("2 rows of public.codes are discarded")
    expect(page.locator("#waiting").get_by_text(NASTY)).to_be_visible()
    page.locator("#tables").get_by_role("link", name="public.codes").click()
    expect(page.locator("#queued tbody tr")).to_have_count(2)
    expect(page.locator("#queued")).to_contain_text('INT-134: code: invalid input syntax for type integer: "…"')
    page.goto("/ddlrepl/channels/shop-hr")
    page.locator("#tables").get_by_role("link", name="public.orders").click()
    expect(page.locator("#way")).to_contain_text("Plan: a person has to decide")
    expect(page.locator("#way").get_by_text('DROP COLUMN "note"')).to_be_visible()
    expect(page.locator("#way")).to_contain_text("As planned")


def test_the_sql_of_a_run_leads_to_its_tables(world: World, page: Page) -> None:
    page.goto("/ddlrepl/channels/shop/runs/first")
    shown = page.locator("#executed")
    expect(shown.get_by_text('RENAME COLUMN "note" TO "remark"')).to_be_visible()
    expect(shown.get_by_text(NASTY).first).to_be_visible()
    shown.get_by_role("link", name="public.orders").click()
    expect(page.get_by_role("heading", name="public.orders", exact=True)).to_be_visible()
    page.goto("/ddlrepl/channels/shop/runs/never")
    expect(page.locator("#executed")).to_contain_text("no run of this name")


def test_pictures_of_a_small_screen_and_of_the_dark(world: World) -> None:
    """For the documentation; what they show is tested above."""
    with browser.opened(world.server.url, world.server.token("vic"), "dark", NARROW) as page:
        page.goto("/ddlrepl/channels/crm")
        expect(page.locator("#verdict .sentence").first).to_contain_text("source does not answer")
        browser.picture(page, "replication-narrow", 844, NARROW)
