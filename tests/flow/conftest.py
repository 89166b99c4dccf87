"""Channels that the tests of flow begin with, and a database that they go back into."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.engines import reusing_sessions
from airflow_ddlrepl.repository.repository import Repository
from tests.conftest import Databases
from tests.support.replica import APPLICATION, Make, Replica, channel_file
from tests.support.small_roles import small_replica


@pytest.fixture
def past(databases: Any) -> Iterator[str]:
    """An empty database of its own, for a replay."""
    name = f"past_{databases.source.rpartition('/')[2]}"
    yield databases.server.create_database(name)
    databases.server.drop_database(name)


@pytest.fixture(autouse=True)
def reused_sessions(request: pytest.FixtureRequest) -> Iterator[None]:
    """On version 18 the runs of a test use each other's sessions, on 15 each run connects anew, as a process does."""
    databases = request.getfixturevalue("databases") if "databases" in request.fixturenames else None
    if not isinstance(databases, Databases) or databases.server.version != 18:
        yield
        return
    with reusing_sessions(), APPLICATION.reused():
        yield


@pytest.fixture(scope="session")
def migrated_repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository without channels, to be copied: its migrations take longer than many a cycle."""
    file = tmp_path_factory.mktemp("repository") / "repository.db"
    Repository.open(f"sqlite:///{file}").close()
    return file


@pytest.fixture
def make(databases: Any, tmp_path: Path, migrated_repository: Path) -> Iterator[Make]:
    """An activated channel; keywords change the channel file; `before`: statements at the source before activation.

    It runs with the small roles that docs/postgresql.md makes; on version 15 with a superuser, as a first try does.
    """

    def made(*before: str, **more: Any) -> Replica:
        if databases.server.version == 18:
            replica: Replica = small_replica(databases, tmp_path, **more)
        else:
            file = channel_file(tmp_path, databases.source, databases.target, **more)
            replica = Replica(databases.source, databases.target, file)
        shutil.copyfile(migrated_repository, tmp_path / "repository.db")
        replica.at_source(*before)
        replica.begin()
        return replica

    yield made
