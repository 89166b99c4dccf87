"""An Airflow of its own for these tests: private home, SQLite metadata, our bundle; nothing of the user's is touched.

Airflow reads its configuration when it is first imported, so the environment is set before any test module is.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from airflow_ddlrepl.demo.servers import PrivateServer

if TYPE_CHECKING:
    from tests.airflow.support.shared import Shared

BUNDLES = [{"name": "ddlrepl", "classpath": "airflow_ddlrepl.bundles.ChannelDagBundle", "kwargs": {}}]


def airflow_environment(home: Path, channels: Path) -> dict[str, str]:
    """Variables of an Airflow that lives in `home` and builds the DAGs of the channels in `channels`."""
    channels.mkdir(parents=True, exist_ok=True)
    return {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(home / "dags"),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home / 'airflow.db'}",
        "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": json.dumps(BUNDLES),
        "AIRFLOW__DDLREPL__CHANNELS": str(channels),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    }


def pytest_configure(config: pytest.Config) -> None:
    home = Path(tempfile.mkdtemp(prefix="ddlrepl-airflow-"))
    os.environ.update(airflow_environment(home, home / "channels"))
    os.environ["AIRFLOW__CORE__UNIT_TEST_MODE"] = "True"


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(os.environ["AIRFLOW_HOME"], ignore_errors=True)


@pytest.fixture(scope="session")
def channels_folder() -> Path:
    """The folder that `[ddlrepl] channels` names."""
    return Path(os.environ["AIRFLOW__DDLREPL__CHANNELS"])


class _SharedAirflow:
    """The one Airflow of the group `standalone`: it starts with the first test that needs it."""

    def __init__(self, server: PrivateServer) -> None:
        self._server = server
        self._stack = ExitStack()
        self._shared: Shared | None = None

    def running(self) -> Shared:
        from tests.airflow.support.shared import started

        if self._shared is None:
            self._shared = self._stack.enter_context(started(self._server))
        return self._shared

    def stop(self) -> None:
        self._shared = None
        self._stack.close()


_AIRFLOW = pytest.StashKey[_SharedAirflow]()


@pytest.fixture(scope="session")
def _airflow(pg18: PrivateServer, request: pytest.FixtureRequest) -> Iterator[_SharedAirflow]:
    airflow = request.config.stash[_AIRFLOW] = _SharedAirflow(pg18)
    yield airflow
    airflow.stop()


@pytest.fixture(scope="module")
def shared_airflow(_airflow: _SharedAirflow) -> Shared:
    """A running Airflow for all tests of one worker, which are in the group `standalone`."""
    return _airflow.running()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Stop Airflow behind the group's last test: idle it takes a tenth of a core from the tests after it."""
    yield
    marker = nextitem.get_closest_marker("xdist_group") if nextitem is not None else None
    if _AIRFLOW in item.config.stash and (marker is None or marker.args != ("standalone",)):
        item.config.stash[_AIRFLOW].stop()


@pytest.fixture(scope="session")
def airflow_database() -> Iterator[None]:
    """Airflow's metadata tables, once for the session."""
    from airflow.utils.db import initdb

    initdb()
    yield
