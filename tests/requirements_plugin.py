"""Records the outcome of every test that carries `@pytest.mark.req(...)` in var/requirements.json.

A whole run replaces the record; a run of some tests only changes theirs. `make requirements` reads it.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "var" / "requirements.json"


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # xdist's workers send their reports to the process that stays here
        config.pluginmanager.register(Recorder(config), "ddlrepl-requirements")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    report: Any = yield
    ids = [name for mark in item.iter_markers("req") for name in mark.args]
    report.user_properties += [("req", name) for name in ids if report.when == "call" or report.outcome != "passed"]
    return report


class Recorder:
    """Gathers reports (also those that xdist's workers send) and writes the record at the end."""

    def __init__(self, config: pytest.Config) -> None:
        whole = not any(config.getoption(name) for name in ("file_or_dir", "keyword", "markexpr"))
        self.tests: dict[str, dict[str, Any]] = {} if whole else read_record()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        ids = sorted({str(value) for name, value in report.user_properties if name == "req"})
        if ids:
            self.tests[report.nodeid] = {"outcome": report.outcome, "ids": ids}

    def pytest_sessionfinish(self) -> None:
        if self.tests:
            RECORD.parent.mkdir(exist_ok=True)
            RECORD.write_text(json.dumps(self.tests, indent=1, sort_keys=True))


def read_record() -> dict[str, dict[str, Any]]:
    """Outcome and requirement IDs by test, of the last runs; empty when there was none."""
    return json.loads(RECORD.read_text()) if RECORD.is_file() else {}
