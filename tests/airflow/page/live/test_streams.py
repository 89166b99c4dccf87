"""The picture of a channel with clients of Streams, as a browser draws it: it can be read at every width and theme."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.airflow.page.live.conftest import World
from tests.airflow.support import browser

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900), pytest.mark.xdist_group("page")]

OVERLAPS = """() => {
  const boxes = [...document.querySelectorAll("svg.picture text, svg.picture .box rect")].map(one => {
    const at = one.getBoundingClientRect();
    return {left: at.left, right: at.right, top: at.top, bottom: at.bottom, of: one.parentNode, tag: one.tagName,
            text: one.textContent || one.parentNode.querySelector("title").textContent};
  });
  const found = [];
  boxes.forEach((one, number) => boxes.slice(number + 1).forEach(other => {
    if (one.of === other.of && one.tag !== other.tag) return;
    const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
    const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
    if (wide > 1 && high > 3) found.push([one.text, other.text]);
  }));
  return found;
}"""
"""What covers something else in the picture: a text another one, or a box of another place."""


def test_the_api_has_each_client_and_queue(world: World) -> None:
    found = world.server.ask("/ddlrepl/api/channels/hr", "vic").json
    clients = {one["name"]: one for one in found["clients"]}
    assert {name: one["messages"] for name, one in clients.items()} == {
        "hr_capture": None,
        "to_headquarters": 31,
        "to_branch": 31,
        "headquarters_apply": 0,
        "branch_apply": 0,
        "order_capture": 1,
        "order_client": 12,
    }
    assert clients["hr_capture"]["lag_bytes"] > 0
    assert clients["headquarters_apply"]["trouble"]["code"] == "APL-110"
    assert {name for name, one in clients.items() if one["trouble"]} == {"headquarters_apply"}


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_picture_can_be_read(world: World, theme: Any, width: int) -> None:
    with browser.opened(world.server.url, world.server.token("vic"), theme, width) as page:
        page.goto("/ddlrepl/channels/hr")
        expect(page.locator("svg.picture .box")).to_have_count(8)
        expect(page.locator("svg.picture .arrow")).to_have_count(7)
        assert page.evaluate(OVERLAPS) == []
        assert [(one["id"], one["impact"]) for one in Axe().run(page).response["violations"]] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if (theme, width) == ("light", 1280):
            browser.picture_of(page, "#picture", "streams-picture")


def test_a_client_that_is_stopped_is_marked(world: World) -> None:
    with browser.opened(world.server.url, world.server.token("vic")) as page:
        page.goto("/ddlrepl/channels/hr")
        marked = page.locator("svg.picture .arrow.bad")
        expect(marked).to_have_count(1)
        expect(marked.locator("title")).to_contain_text("headquarters_apply\ndisabled: APL-110")
        expect(page.locator("#waiting")).to_contain_text("1 transactions wait in the error queue")
        whole(page)


def whole(page: Page) -> None:
    said = page.locator("svg.picture").get_attribute("aria-label") or ""
    assert "hr_queue to headquarters_queue: to_headquarters" in said and "31 wait" in said
