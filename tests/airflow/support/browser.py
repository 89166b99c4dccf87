"""A browser at Airflow's UI: headless Chromium, as a person uses it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, ViewportSize, expect, sync_playwright

WIDTH, HEIGHT = 1200, 900
Theme = Literal["light", "dark"]
PATIENCE = 120_000
"""Milliseconds: the UI's files come from a busy machine."""


@contextmanager
def opened(url: str, token: str = "", theme: Theme = "light", width: int = WIDTH) -> Iterator[Page]:
    """A page of the Airflow at `url`; skips the test where there is no Chromium (.ci/chromium installs it).

    token: of who is logged in. theme: what the browser prefers.
    """
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("chromium is not installed (.ci/chromium)")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        size: ViewportSize = {"width": width, "height": HEIGHT}
        context = chromium.new_context(base_url=url, viewport=size, color_scheme=theme)
        if token:
            context.add_cookies([{"name": "_token", "value": token, "url": url}])
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        yield page
        chromium.close()


def trigger(
    page: Page, dag_id: str, fields: Mapping[str, str], boxes: Sequence[str] = (), *, unpause: bool = False
) -> list[str]:
    """Opens the form that triggers the DAG, fills in these fields alone and submits it; returns what the form objects.

    boxes: names of fields that are checked.
    unpause: leave the box checked, so that the run begins.
    """
    page.goto(f"/dags/{dag_id}")
    page.get_by_role("button", name="Trigger").first.click()
    form = page.get_by_role("dialog")
    submit = form.get_by_role("button", name="Trigger", exact=True)
    expect(submit).to_be_visible()
    box = form.get_by_text(re.compile("^Unpause .* on trigger$"))  # not there when the DAG is not paused
    if not unpause and box.count():
        box.click()
    for name, value in fields.items():
        form.locator(f"#element_{name}").fill(value)
        form.locator(f"#element_{name}").blur()
    for name in boxes:
        form.locator(f'[id="switch:element_{name}"]').click()
    page.wait_for_timeout(500)
    if submit.is_disabled():
        return [message.inner_text() for message in form.get_by_text("required").all()] or ["it can't be submitted"]
    submit.click()
    expect(form).to_be_hidden()
    page.goto("about:blank")  # the UI asks the server for news all the time
    return []


def picture_of(page: Page, part: str, name: str) -> None:
    """Takes a picture of a part of the page, a CSS selector, when DDLREPL_PICTURES names a folder."""
    if folder := os.environ.get("DDLREPL_PICTURES"):
        page.locator(part).screenshot(path=Path(folder) / f"{name}.png")


def picture(page: Page, name: str, height: int = 900, width: int = WIDTH) -> None:
    """Takes a picture of what the page shows, for the documentation, when DDLREPL_PICTURES names a folder."""
    if folder := os.environ.get("DDLREPL_PICTURES"):
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(1500)
        page.screenshot(path=Path(folder) / f"{name}.png")
        page.set_viewport_size({"width": width, "height": HEIGHT})
