"""Records the outcome of every test that carries `@pytest.mark.req(...)` in var/requirements.json.

A test is *live* if the product has run on a real server in it (tests/product_runs.py).
A whole run, or `make test`, replaces the record; a run of other tests only changes theirs. A test that a run leaves
out by `-m` or DDLREPL_THOROUGH_PART, and no run before has recorded, is noted as not run. `make requirements` reads the
record. An ID that tests/requirements.csv does not list ends the run before its first test, also one of a story or of a
parametrised case.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests import thorough_parts
from tests.product_runs import ProductRuns

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "var" / "requirements.json"
NOT_THOROUGH = "not thorough"
NOT_RUN = "not run"
CATALOGUE = Path(__file__).with_name("requirements.csv")


RUNS = ProductRuns()


def catalogue() -> dict[str, str]:
    """What each requirement says, by ID."""
    return {name: row["behaviour"] for name, row in _rows().items()}


def needs_server(requirement: str) -> bool:
    """Whether a requirement is about what happens in a database.

    The others are about text alone: what is parsed, which rules are made, which configuration is refused, what
    `explain` says.
    """
    return _rows()[requirement]["needs"] == "server"


@cache
def _rows() -> dict[str, dict[str, str]]:
    with CATALOGUE.open(newline="", encoding="utf-8") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(RUNS, "ddlrepl-product-runs")
    if hasattr(config, "workerinput"):  # xdist's workers send their reports to the process that stays here
        config.pluginmanager.register(LeftOut(config), "ddlrepl-left-out")
    else:
        config.pluginmanager.register(Recorder(config), "ddlrepl-requirements")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    check_ids(items)


def check_ids(items: Iterable[pytest.Item]) -> None:
    """Raise UsageError where a test carries an ID that the catalogue does not list."""
    known = catalogue()
    unknown = {f"{name} ({item.nodeid})" for item in items for name in ids_of(item) if name not in known}
    if unknown:
        raise pytest.UsageError(f"not in {CATALOGUE.name}: {', '.join(sorted(unknown))}")


def ids_of(item: pytest.Item) -> list[str]:
    """The requirements that a test shows."""
    return [name for mark in item.iter_markers("req") for name in mark.args]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logstart() -> None:
    RUNS.begin()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    report: Any = yield
    if report.when == "call" or report.outcome != "passed":
        report.user_properties += [("req", name) for name in ids_of(item)]
        report.user_properties += [("modelled", True) for _ in item.iter_markers("modelled")]
        report.user_properties += [("live", True)] if RUNS.is_in(item) and _has_server(item) else []
    return report


def _has_server(item: pytest.Item) -> bool:
    return item.get_closest_marker("server") is not None


def entry(outcome: str, ids: Iterable[str], *, marks: Collection[str]) -> dict[str, Any]:
    """What the record has of a test. marks: `modelled`, `live`; of a test that has not run, whether it would be."""
    marked = {name: name in marks for name in ("modelled", "live")}
    return {"outcome": outcome, "ids": sorted(set(ids)), **marked}


def left_out(items: Iterable[pytest.Item]) -> dict[str, dict[str, Any]]:
    """What the record has of tests that this run leaves out: those that carry a requirement."""
    return {
        thorough_parts.name(item.nodeid): entry(NOT_RUN, ids, marks=_expected(item))
        for item in items
        if (ids := ids_of(item))
    }


def _expected(item: pytest.Item) -> list[str]:
    return [name for name, mark in (("modelled", "modelled"), ("live", "server")) if item.get_closest_marker(mark)]


class LeftOut:
    """Tells the process that records, from a worker of xdist, which tests the run leaves out."""

    def __init__(self, config: Any) -> None:
        self.output: dict[str, Any] = config.workeroutput

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self.output.setdefault("left_out", {}).update(left_out(items))


class Recorder:
    """Gathers reports (also those that xdist's workers send) and writes the record at the end."""

    def __init__(self, config: pytest.Config) -> None:
        some = [config.getoption(name) for name in ("file_or_dir", "keyword", "markexpr")]
        whole = not any(one for one in some if one != NOT_THOROUGH)
        self.tests: dict[str, dict[str, Any]] = {} if whole else read_record()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        ids = [str(value) for name, value in report.user_properties if name == "req"]
        if ids:
            test = thorough_parts.name(report.nodeid)
            self.tests[test] = entry(report.outcome, ids, marks=[name for name, _ in report.user_properties])

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self.leave_out(left_out(items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Called by xdist when a worker has ended."""
        self.leave_out(getattr(node, "workeroutput", {}).get("left_out", {}))

    def leave_out(self, tests: Mapping[str, dict[str, Any]]) -> None:
        """Note tests as not run, unless this run or one before has recorded them."""
        self.tests = {**tests, **self.tests}

    def pytest_sessionfinish(self) -> None:
        if self.tests:
            RECORD.parent.mkdir(exist_ok=True)
            RECORD.write_text(json.dumps(self.tests, indent=1, sort_keys=True))


def read_record() -> dict[str, dict[str, Any]]:
    """Outcome and requirement IDs by test, of the last runs; empty when there was none."""
    return json.loads(RECORD.read_text()) if RECORD.is_file() else {}
