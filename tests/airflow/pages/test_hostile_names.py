"""Names, statements and values of a source are text on every page of a running Airflow, in a browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Dialog, Page, expect

from airflow_ddlrepl.demo.standalone import wait_for
from airflow_ddlrepl.visible import one_line
from tests.airflow.support import browser, shop
from tests.airflow.support.shared import Shared
from tests.support.refusing import ask

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1500), pytest.mark.xdist_group("standalone")]

SCRIPT = "<script>pwned=1</script>"
IMAGE = "<img src=x onerror=pwned=1>"
NAMES = (
    SCRIPT,
    IMAGE,
    "](javascript:pwned=1)",
    "[x](javascript:pwned=1)",
    "http://elsewhere.test/x",
    "a\\|b|c`d",
    "a\nokay: nothing to do",
    "\x1b[2J\u202etxt",
    "{{ 7 * 191 }}{% raw %}",
    "%s%d${HOME}",
    "::endgroup::",
    "::group::all is well",
    "__classname__",
)
"""Each is the name of a table, of a column, of a type and its label, and the text of a default and of rows."""

REPLICATE, PLAN, COMPARE = (f"ddlrepl__hostile__{kind}" for kind in ("replicate", "plan", "compare"))


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


@dataclass
class Looked:
    """An Airflow whose channel has met all names, and a browser that has noted what its pages did."""

    shared: Shared
    page: Page
    dialogs: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def dismiss(self, dialog: Dialog) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def at(self, path: str, shows: str) -> Page:
        """The page at this path, once it shows this text."""
        self.page.goto(path)
        expect(self.page.get_by_text(shows).first).to_be_visible()
        self.page.wait_for_timeout(1000)
        return self.page

    def check(self) -> None:
        """Nothing of a source has run, is a link, an image, or has evaluated a template."""
        assert self.page.evaluate("typeof pwned") == "undefined" and self.dialogs == []
        assert self.page.locator('img[src="x"]').count() == 0
        assert self.page.locator("a[href^='javascript:' i]").count() == 0
        assert [one for one in self.asked if "elsewhere.test" in one or one.endswith("/x")] == []
        assert "1337" not in self.page.locator("body").inner_text()


def before(name: str) -> list[str]:
    table, kind = quoted(name), quoted(f"{name}t")
    return [
        f"CREATE TYPE {kind} AS ENUM ({literal(name)}, 'b')",
        f"CREATE TABLE {table} (id int PRIMARY KEY, {table} {kind})",
        f"INSERT INTO {table} VALUES (1, {literal(name)}), (2, 'b')",
    ]


def changes(name: str, number: int) -> list[str]:
    return [
        f"ALTER TABLE {quoted(name)} ADD {quoted(f'{name}{number}')} text DEFAULT {literal(name)}",
        f"INSERT INTO {quoted(name)} VALUES ({2 + number}, 'b', {literal(name)})",
    ]


def is_asked(shared: Shared, dag: str) -> bool:
    """Does the run wait for a person?"""
    task = shared.airflow.get(f"/api/v2/dags/{dag}/dagRuns/ask/taskInstances/approve")
    return (task or {}).get("state") == "awaiting_input"


@pytest.fixture(scope="module")
def looked(shared_airflow: Shared) -> Iterator[Looked]:
    """A run has replicated a change of each table; then rows are missing, and more changes wait."""
    airflow, home = shared_airflow.airflow, shared_airflow.home
    source, target, _ = shared_airflow.databases("hostile")
    shop.run_sql(source, [one for name in NAMES for one in before(name)])
    shared_airflow.bundle.mkdir(exist_ok=True)
    shop.activate(shop.write_channel(shared_airflow.bundle, home, "hostile", "hostile_source", "hostile_target"))
    shop.run_sql(source, [one for name in NAMES for one in changes(name, 1)])
    airflow.wait_for_dag(REPLICATE)
    for dag in (REPLICATE, PLAN, COMPARE):
        airflow.command("dags", "unpause", dag, "--yes")
    conf = json.dumps({name: name for name in NAMES})
    airflow.command("dags", "trigger", REPLICATE, "--run-id", "first", "--conf", conf)
    assert airflow.wait_for_run(REPLICATE, "first", 480) == "success", airflow.task_logs()
    shop.run_sql(target, [f"DELETE FROM {quoted(name)} WHERE id = 1" for name in NAMES])
    shop.run_sql(source, [changes(name, 2)[0] for name in NAMES])
    airflow.command("dags", "trigger", PLAN, "--run-id", "ask", "--conf", json.dumps({"ask": True}))
    airflow.command("dags", "trigger", COMPARE, "--run-id", "ask", "--conf", json.dumps({"repair": True}))
    wait_for("both approvals", lambda: all(is_asked(shared_airflow, dag) for dag in (PLAN, COMPARE)), 480, lambda: None)
    with browser.opened(airflow.url) as page:
        found = Looked(shared_airflow, page)
        page.set_viewport_size({"width": 1400, "height": 2400})  # a log shows only lines in view
        page.on("dialog", found.dismiss)
        page.on("request", lambda request: found.asked.append(request.url))
        yield found


def test_an_approval_shows_names_and_statements_as_text(looked: Looked) -> None:
    """The approval of a plan, and that of a repair: neither has a link to anywhere but this Airflow."""
    for dag in (PLAN, COMPARE):
        page = looked.at(f"/dags/{dag}/runs/ask/tasks/approve/required_actions", "What will be lost")
        for name in NAMES:
            expect(page.get_by_text(f"public.{shown(name)}").first).to_be_visible()
        assert page.locator("a[href*='elsewhere.test']").count() == 0
        looked.check()


def shown(name: str) -> str:
    """A name as it is shown in one line of code, where no part of it is a pipe behind a backslash."""
    return one_line(name).partition("\\|")[0]


@pytest.mark.parametrize(
    ("dag", "run", "task"), [(REPLICATE, "first", "adapt"), (PLAN, "ask", "plan"), (COMPARE, "ask", "compare")]
)
def test_no_name_hides_a_line_of_a_log(looked: Looked, dag: str, run: str, task: str) -> None:
    """Airflow's page of a log folds lines, and leaves some out, where one says `::group::` or `::endgroup::`."""
    page = looked.at(f"/dags/{dag}/runs/{run}/tasks/{task}", "public.__classname__")
    text = page.locator("body").inner_text()
    assert [name for name in NAMES if f"public.{one_line(name)}" not in text] == []
    looked.check()


def test_the_page_of_a_channel_shows_names_as_text(looked: Looked) -> None:
    page = looked.at("/ddlrepl/channels/hostile", "public.__classname__")
    expect(page.locator("#changes")).to_contain_text("__classname__1")
    expect(page.locator("#tables")).to_contain_text("public.__classname__")
    assert page.locator("a[href*='elsewhere.test']").count() == 0
    looked.check()


@pytest.mark.parametrize(
    ("path", "shows"),
    [
        (f"/dags/{REPLICATE}", "hostile"),
        (f"/dags/{REPLICATE}/runs/first/details", IMAGE),
        (f"/dags/{REPLICATE}/runs/first/tasks/integrate/asset_events", "ddlrepl__hostile__schema"),
        (f"/dags/{PLAN}/runs/ask/tasks/approve/rendered_templates", "What will be lost"),
        ("/xcoms", "What will be lost"),
        ("/required_actions", "approve"),
    ],
    ids=["dag", "conf", "events", "templates", "xcoms", "actions"],
)
def test_other_pages_run_nothing_of_a_source(looked: Looked, path: str, shows: str) -> None:
    looked.at(path, shows)
    looked.check()


def test_values_and_defaults_arrive_as_they_are(looked: Looked) -> None:
    """No name or text has changed on its way: a template or a variable in it would have."""
    source, target, _ = looked.shared.databases("hostile")
    for name in NAMES:
        columns = ", ".join(map(quoted, (name, f"{name}1")))
        wanted = ask(source, f"SELECT id, {columns} FROM {quoted(name)} WHERE id > 1 ORDER BY 1")
        assert ask(target, f"SELECT id, {columns} FROM {quoted(name)} ORDER BY 1") == wanted
        assert wanted[0][2] == name
