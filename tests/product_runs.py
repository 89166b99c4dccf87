"""Which tests have run the product on a real server: it connected in this process, or a process with it was started.

A fixture of a module or a session that has done so counts for each test that has it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from typing import Any

import pytest

from airflow_ddlrepl.engines.postgres.connection import connect

_OF_TESTS = "airflow_ddlrepl.demo.servers"  # it connects to make and drop the databases of the tests
_STARTING = {"subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty"}
_PROGRAMS = ("python", "airflow", "ddlrepl", "spark")
_FORKS = ("os.fork", "os.forkpty")


class ProductRuns:
    """Counts what the product does on servers."""

    def __init__(self) -> None:
        self.count = 0
        self._of_fixtures: set[int] = set()
        self._before = 0
        for name in ("_connected", "_with_safe_settings", "_configure"):
            setattr(connect, name, self._counted(getattr(connect, name)))
        sys.addaudithook(self._heard)

    def _counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **named: Any) -> Any:
            self.count += sys._getframe(2).f_globals.get("__name__") != _OF_TESTS
            return function(*arguments, **named)

        return counted

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in _STARTING:
            self.count += event in _FORKS or os.path.basename(_text(arguments[0])).startswith(_PROGRAMS)

    def begin(self) -> None:
        """A test begins."""
        self._before = self.count

    def is_in(self, item: pytest.Item) -> bool:
        """Whether the product has run in a test so far, or in a fixture of it."""
        fixtures = getattr(item, "_fixtureinfo", None)
        named = fixtures.name2fixturedefs.values() if fixtures else ()
        return self.count > self._before or any(id(one) in self._of_fixtures for ones in named for one in ones)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, Any, Any]:
        before = self.count
        made: Any = yield
        if self.count > before:
            self._of_fixtures.add(id(fixturedef))
        return made


def _text(program: Any) -> str:
    return os.fsdecode(program) if isinstance(program, str | bytes | os.PathLike) else ""
