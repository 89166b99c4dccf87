"""One Airflow for all tests that look at a running one: each has a channel and databases of its own in it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from airflow_ddlrepl.demo.servers import PrivateServer
from tests.airflow.conftest import BUNDLES, airflow_environment
from tests.airflow.support.answering import Asked

CHANNELS = ("ui", "shop", "goldengate", "hostile")
SIDES = ("source", "target", "past")
FOLDER = {"name": "dags-folder", "classpath": "airflow.dag_processing.bundles.local.LocalDagBundle", "kwargs": {}}


@dataclass
class Shared:
    """A running Airflow that builds the DAGs of the channel files in `bundle`, and reads the DAGs folder `dags`.

    home: where both folders are. urls: of the databases, by Airflow connection: `ui_source`, …
    """

    airflow: Asked
    home: Path
    urls: dict[str, str]

    @property
    def bundle(self) -> Path:
        return self.home / "bundle"

    def databases(self, channel: str) -> tuple[str, str, str]:
        """The source, the target and the place of rewinds, empty before the channel's tests."""
        source, target, past = (self.urls[f"{channel}_{side}"] for side in SIDES)
        return source, target, past


@contextmanager
def started(server: PrivateServer) -> Iterator[Shared]:
    """It runs while the `with` lasts; this process knows the connections, too."""
    names = [f"{channel}_{side}" for channel in CHANNELS for side in SIDES]
    urls = {name: server.create_database(f"airflow_{name}") for name in names}
    connections = {f"AIRFLOW_CONN_{name.upper()}": url for name, url in urls.items()}
    metadata = server.create_database("airflow_metadata")
    with tempfile.TemporaryDirectory(prefix="ddlrepl-airflow-") as folder, pytest.MonkeyPatch.context() as patch:
        home = Path(folder)
        environment = airflow_environment(home, home / "bundle")
        del environment["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"]
        environment["AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST"] = json.dumps([*BUNDLES, FOLDER])
        for name, value in connections.items():
            patch.setenv(name, value)
        with Asked(home, metadata, environment | connections) as airflow:
            yield Shared(airflow, home, urls)
    for url in (*urls.values(), metadata):
        server.drop_database(url.rpartition("/")[2])
