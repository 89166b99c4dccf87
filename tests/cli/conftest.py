"""`ddlrepl init` in this process, and the channel of the file that it proposes."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from airflow_ddlrepl.cli import main
from airflow_ddlrepl.cli.open_channel import Connections, environment_alone
from tests.conftest import Databases
from tests.support.replica import Replica


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


class Init:
    """Runs `ddlrepl init` in this process, as the console script does; its file is `shop.yaml` in a folder."""

    def __init__(self, capfd: pytest.CaptureFixture[str], folder: Path, databases: Databases) -> None:
        self._capfd, self.file, self._databases = capfd, folder / "shop.yaml", databases

    def __call__(self, *options: str, source: str = "", target: str = "") -> Outcome:
        """source, target: default: this test's databases, as a superuser."""
        source, target = source or self._databases.source, target or self._databases.target
        found = self.typed(str(self.file), "--source", source, "--target", target, *options)
        password = self._databases.server.password
        assert password not in found.out + found.err
        assert not self.file.exists() or password not in self.file.read_text()
        return found

    def typed(self, *arguments: str, connections: Connections = environment_alone) -> Outcome:
        with pytest.raises(SystemExit) as ended:
            main(["init", *arguments], connections)
        out, err = self._capfd.readouterr()
        return Outcome(int(ended.value.code or 0), out, err)


@pytest.fixture
def init(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Init]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    monkeypatch.setenv("DDLREPL_HOME", str(tmp_path / "home"))
    yield Init(capfd, tmp_path, databases)
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def replica(init: Init, databases: Databases, monkeypatch: pytest.MonkeyPatch) -> Replica:
    """The channel of the proposed file, with the passwords where the proposal says that they have to be."""
    for place in ("SOURCE", "TARGET"):
        monkeypatch.setenv(f"SHOP_{place}_PASSWORD", databases.server.password)
    return Replica(databases.source, databases.target, init.file)


def yaml_of(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(file.read_text())
    return found
