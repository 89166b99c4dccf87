"""Loaded by pytest in a mutated copy of the tree: runs the tests that must fail, and stops when they have failed.

DDLREPL_MUTATION names a folder. `wanted.json` there has the tests to run in their order, each with the requirements
that it must show; where it is missing the marked tests are only listed. `found.json` is written.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import THOROUGH, version
from tests.requirements_plugin import ids_of

VARIABLE = "DDLREPL_MUTATION"
FOLDER = Path(os.environ.get(VARIABLE, "."))


class Listing:
    """Notes every test that carries a requirement."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, Any]] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            if ids := ids_of(item):
                is_long = item.nodeid.startswith(THOROUGH) or version(item) == 15
                marks = {"server": bool(item.get_closest_marker("server")), "long": is_long}
                self.found[item.nodeid] = {"ids": sorted(set(ids)), **marks}

    def pytest_sessionfinish(self) -> None:
        (FOLDER / "found.json").write_text(json.dumps(self.found))


class Running:
    """Runs the wanted tests; none, if is_mutated, of requirements that all have a failing test by now."""

    def __init__(self, wanted: dict[str, list[str]], *, is_mutated: bool) -> None:
        self.asked, self.wanted, self.is_mutated = wanted, dict(wanted), is_mutated
        self.noticed: set[str] = set()
        self.found: dict[str, dict[str, Any]] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        wanted = {item.nodeid: self.shown_by(item.nodeid) for item in items}
        names = sorted((name for name in wanted if wanted[name] is not None), key=lambda name: self.place(name))
        self.wanted = {name: wanted[name] or [] for name in names}
        order = {name: number for number, name in enumerate(self.wanted)}
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in order])
        items[:] = sorted((item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid])

    def named(self, nodeid: str) -> str:
        """The wanted name of a test: its own, that without parameters, or its file's; empty: it is not wanted."""
        return next(
            (name for name in (nodeid, nodeid.partition("[")[0], nodeid.partition("::")[0]) if name in self.asked), ""
        )

    def shown_by(self, nodeid: str) -> list[str] | None:
        return self.asked.get(self.named(nodeid))

    def place(self, nodeid: str) -> int:
        return list(self.asked).index(self.named(nodeid))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        noted = self.found.setdefault(report.nodeid, {"outcome": "passed", "seconds": 0.0, "why": ""})
        noted["seconds"] += report.duration
        if report.outcome != "passed" and noted["outcome"] == "passed":
            noted["outcome"] = report.outcome
            noted["why"] = str(report.longrepr)[-2000:] if report.failed else ""
        if report.failed:
            self.noticed |= set(self.wanted[report.nodeid])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> object:
        """Pass over a test that can show nothing more."""
        return True if self.is_mutated and self.noticed.issuperset(self.wanted[item.nodeid]) else None

    def pytest_sessionfinish(self) -> None:
        (FOLDER / "found.json").write_text(json.dumps(self.found))


def pytest_configure(config: pytest.Config) -> None:
    wanted = FOLDER / "wanted.json"
    if not wanted.exists():
        config.pluginmanager.register(Listing(), "ddlrepl-marked-tests")
        return
    order = json.loads(wanted.read_text())
    config.pluginmanager.register(Running(order["tests"], is_mutated=order["is_mutated"]), "ddlrepl-mutation")
