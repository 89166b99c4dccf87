"""Requirements: only such as the catalogue lists can be shown, and what a model says is told apart from what runs."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from tests.requirements_plugin import catalogue, check_ids
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


@pytest.mark.parametrize(
    ("tests", "wanted"),
    [
        ((), "open"),
        ((ran("skipped"),), "open"),
        ((ran(),), "shown"),
        ((ran(modelled=True),), "modelled"),
        ((ran(modelled=True), ran(modelled=False)), "shown"),
        ((ran(modelled=True), ran("skipped")), "modelled"),
        ((ran(), ran("failed", modelled=True)), "failing"),
        ((ran("not run"),), "not run"),
        ((ran("not run", modelled=True), ran("skipped")), "not run"),
        ((ran(modelled=True), ran("not run")), "not run"),
        ((ran("not run"), ran()), "shown"),
        ((ran("not run"), ran("failed")), "failing"),
    ],
)
def test_the_state_of_a_requirement(tests: tuple[dict[str, Any], ...], wanted: str) -> None:
    assert state({str(number): test for number, test in enumerate(tests)}) == wanted


def test_the_report_lists_open_ones_and_the_tests_of_each() -> None:
    record = {
        "t.py::test_a[1]": ran(),
        "t.py::test_a[2]@group": ran(),
        "t.py::test_b": {**ran(), "ids": ["A-1", "A-2"]},
    }
    lines = report({"A-1": "one", "A-2": "two", "B-1": "three"}, record).splitlines()
    assert [line.split() for line in lines[1:4]] == [
        ["A", "2", "2", "0", "0", "0", "0"],
        ["B", "1", "0", "0", "0", "0", "1"],
        ["all", "3", "2", "0", "0", "0", "1"],
    ]
    told = [line.strip() for line in lines[5:]]
    one = ["A-1       one", "t.py::test_a", "t.py::test_b"]
    assert told == ["shown:", *one, "A-2       two", "t.py::test_b", "", "open:", "B-1       three"]


def test_no_assertion_is_true_whatever_happens() -> None:
    """`assert a == b if c else d` is (a == b) if c else d: a list or a text in place of d can't fail."""
    found = []
    for file in sorted(TESTS.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Assert) and isinstance(node.test, ast.IfExp):
                branches = (node.test.body, node.test.orelse)
                if not all(isinstance(branch, ast.Compare | ast.Call | ast.UnaryOp) for branch in branches):
                    found.append(f"{file.relative_to(TESTS)}:{node.lineno}")
    assert found == []
