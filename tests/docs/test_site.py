"""The documentation builds as a site that needs no other address, and a broken link or anchor fails the build."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from airflow_ddlrepl.config.file.json_schema import json_schema
from docs.tools.site import api_page, front_page
from tests.airflow.support.browser import opened

ROOT = Path(__file__).parents[2]
pytest.importorskip("mkdocs")


def build(config: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Build strictly, as `make docs` does."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(config), "-d", str(site)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT / "mkdocs.yml", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    yield folder


def test_no_page_loads_anything_from_another_address(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 30
    loads = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)=\"?((?:https?:)?//[^\">\s]*)")
    assert {page.name: found for page in pages if (found := loads.findall(page.read_text(encoding="utf-8")))} == {}
    styles = re.compile(r"(?:@import|url\()\s*[\"']?((?:https?:)?//[^\"')\s]*)")
    assert {file.name: found for file in site.rglob("*.css") if (found := styles.findall(file.read_text()))} == {}


def test_a_browser_finds_an_error_code_and_asks_nobody_else(site: Path) -> None:
    handler = partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        with opened(address) as page:
            asked: list[str] = []
            page.on("request", lambda request: asked.append(request.url))
            for path in ("/index.html", "/architecture.html", "/rewind.html"):
                page.goto(path, wait_until="networkidle")
                assert page.evaluate("[...document.images].every(one => one.naturalWidth > 0)"), path
            page.focus("input[name=query]")  # the search begins to listen then
            page.keyboard.type("SRC-105", delay=80)
            page.locator(".md-search-result__link", has_text="SRC-105").first.wait_for(state="attached")
        server.shutdown()
    assert [url for url in asked if not url.startswith((address, "data:"))] == []


class Quiet(SimpleHTTPRequestHandler):
    """Serves the site and logs nothing."""

    def log_message(self, *_: object) -> None:
        pass


def test_the_description_of_the_api_is_published(site: Path) -> None:
    assert json.loads((site / "schema/openapi.json").read_text()) == json.loads(api_page.openapi())
    assert "/ddlrepl/api/channels/{channel}" in (site / "reference/api.html").read_text()


def test_the_schema_of_the_channel_file_is_published(site: Path) -> None:
    assert json.loads((site / "schema/channel.json").read_text()) == json.loads(json.dumps(json_schema()))


def test_the_front_page_is_the_readme_with_links_into_the_site(site: Path) -> None:
    page = (site / "index.html").read_text(encoding="utf-8")
    title = re.findall(r"^## (.+)$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert all(re.sub(r"[`*]", "", one) in re.sub(r"<[^>]+>", "", page) for one in title)
    assert 'href="channel.html' in page and "docs/channel.md" not in page
    for image in re.findall(r"<img[^>]* src=\"?([^\">\s]+)", page):
        assert (site / image).is_file(), image


def test_tables_show_bars_in_code_without_a_backslash(site: Path) -> None:
    page = (site / "channel.html").read_text(encoding="utf-8")
    assert "* ? [a-f] |" in page
    assert not [code for code in re.findall(r"<td>.*?</td>", page) if "<code>" in code and "\\|" in code]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[away](nowhere.md)", "nowhere.md"),
        ("[away](index.md#no-such-heading)", "no-such-heading"),
        ("![picture](images/none.png)", "images/none.png"),
    ],
)
def test_a_broken_link_fails_the_build(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text(f"# Front\n\n{text}\n")
    config = tmp_path / "mkdocs.yml"
    config.write_text(f"INHERIT: {ROOT}/mkdocs.yml\ndocs_dir: {tmp_path}/docs\nhooks: []\nnav: [index.md]\n")
    done = build(config, tmp_path / "site")
    assert done.returncode != 0 and said in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("see docs/rewind.md", "see [rewind](../rewind.md)"),
        ("(docs/suspended_tables.md)", "([suspended tables](../suspended_tables.md))"),
        ("`docs/rewind.md` and [r](docs/rewind.md)", "`docs/rewind.md` and [r](docs/rewind.md)"),
        ("```sh\ncat docs/rewind.md\n```", "```sh\ncat docs/rewind.md\n```"),
        ("README.md says", "[README](../index.md) says"),
    ],
)
def test_a_page_that_is_named_becomes_a_link(written: str, shown: str) -> None:
    assert front_page.linked(written, "reference/errors.md") == shown
