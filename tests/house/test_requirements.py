"""Requirements: only such as the catalogue lists can be shown, and what a model says is told apart from what runs."""

from __future__ import annotations

import ast
import csv
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.engines.postgres.connection.connect import session
from tests.conftest import Databases
from tests.requirements_plugin import CATALOGUE, RUNS, catalogue, check_ids, needs_server
from tests.requirements_report import report, state
from tests.stories.story import stories

TESTS = Path(__file__).parents[1]


class Item:
    """A collected test with its marks."""

    nodeid = "tests/some/test_it.py::test_it[case]"

    def __init__(self, *ids: str) -> None:
        self.marks = [pytest.mark.req(*ids).mark]

    def iter_markers(self, name: str) -> Any:
        return iter([mark for mark in self.marks if mark.name == name])


def test_an_unknown_id_ends_the_run() -> None:
    known: Any = Item("HVR-O-02")
    unknown: Any = Item("HVR-O-02", "HVR-O-2")
    check_ids([known])
    with pytest.raises(pytest.UsageError, match=r"HVR-O-2 \(tests/some/test_it.py"):
        check_ids([known, unknown])


def test_stories_show_requirements_that_exist() -> None:
    named = {name for story in stories() for name in story.reqs}
    assert named and named <= catalogue().keys()


def ran(outcome: str = "passed", **more: Any) -> dict[str, Any]:
    return {"outcome": outcome, "ids": ["A-1"], **more}


LIVE, PURE, MODELLED = ran(live=True), ran(), ran(modelled=True)


@pytest.mark.parametrize(
    ("tests", "of_database", "of_text"),
    [
        ((), "open", "open"),
        ((ran("skipped"),), "open", "open"),
        ((LIVE,), "live", "live"),
        ((PURE,), "pure", "live"),
        ((PURE, LIVE), "live", "live"),
        ((MODELLED,), "modelled", "modelled"),
        ((MODELLED, PURE), "pure", "live"),
        ((MODELLED, LIVE), "live", "live"),
        ((MODELLED, ran("skipped")), "modelled", "modelled"),
        ((LIVE, ran("failed", modelled=True)), "failing", "failing"),
        ((ran("not run"),), "not run", "not run"),
        ((ran("not run", modelled=True), ran("skipped")), "not run", "not run"),
        ((MODELLED, ran("not run")), "not run", "not run"),
        ((PURE, ran("not run", live=True)), "not run", "live"),
        ((LIVE, ran("not run", live=True)), "live", "live"),
        ((ran("not run"), ran("failed")), "failing", "failing"),
    ],
)
def test_the_state_of_a_requirement(tests: tuple[dict[str, Any], ...], of_database: str, of_text: str) -> None:
    found = {str(number): test for number, test in enumerate(tests)}
    assert (state(found, needs_server=True), state(found, needs_server=False)) == (of_database, of_text)


def test_the_report_lists_open_ones_and_the_tests_of_each() -> None:
    record = {
        "t.py::test_a[1]": LIVE,
        "t.py::test_a[2]@group": PURE,
        "t.py::test_b": {**PURE, "ids": ["A-1", "A-2", "A-3"]},
    }
    known = {"A-1": "one", "A-2": "two", "A-3": "three", "B-1": "four"}
    lines = report(known, ["A-3"], record).splitlines()
    assert [line.split() for line in lines[1:4]] == [
        ["A", "3", "2", "1", "0", "0", "0", "0"],
        ["B", "1", "0", "0", "0", "0", "0", "1"],
        ["all", "4", "2", "1", "0", "0", "0", "1"],
    ]
    told = [line.strip() for line in lines[5:]]
    one = ["A-1       one", "t.py::test_a", "t.py::test_b"]
    live = ["live:", *one, "A-3       three", "t.py::test_b"]
    assert told == [*live, "", "pure:", "A-2       two", "t.py::test_b", "", "open:", "B-1       four"]


def test_the_catalogue_says_of_each_requirement_what_shows_it() -> None:
    needs = {needs_server(name) for name in catalogue()}
    assert needs == {True, False}
    assert {row["needs"] for row in csv.DictReader(CATALOGUE.open(newline="", encoding="utf-8"))} == {"server", "text"}


def test_a_test_is_live_where_the_product_has_run_on_a_server(databases: Databases) -> None:
    RUNS.begin()
    made = databases.source
    before = RUNS.count
    with session(made):
        pass
    assert RUNS.count > before
    RUNS.begin()
    with psycopg.connect(made):
        pass
    assert RUNS.count == RUNS._before
    subprocess.run([sys.executable, "-c", ""], check=True)
    assert RUNS.count > RUNS._before


def test_no_assertion_is_true_whatever_happens() -> None:
    """`assert a == b if c else d` is (a == b) if c else d: a list or a text in place of d can't fail."""
    found = []
    texts = ((file, file.read_text(encoding="utf-8")) for file in sorted(TESTS.rglob("*.py")))
    for file, text in ((file, text) for file, text in texts if "assert " in text and " else" in text):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Assert) and isinstance(node.test, ast.IfExp):
                branches = (node.test.body, node.test.orelse)
                if not all(isinstance(branch, ast.Compare | ast.Call | ast.UnaryOp) for branch in branches):
                    found.append(f"{file.relative_to(TESTS)}:{node.lineno}")
    assert found == []
