"""Each test has a lake of its own in each kind of catalog that changes one table at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_ddlrepl.engines.lake.target import repetition
from tests.conftest import Databases
from tests.support.lakes.glue import GlueServer, glue_server
from tests.support.lakes.metastore import Metastore, metastore
from tests.support.lakes.single import KINDS, Single
from tests.support.replica import Replica, channel_file


@pytest.fixture(scope="session")
def hive_metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Metastore]:
    """Return a Hive metastore."""
    with metastore(tmp_path_factory.mktemp("hive")) as found:
        yield found


@pytest.fixture(scope="session")
def glue() -> Iterator[GlueServer]:
    """Return an AWS Glue."""
    with glue_server() as found:
        yield found


@pytest.fixture(params=KINDS, ids=[one.kind for one in KINDS])
def single(request: pytest.FixtureRequest, tmp_path: Path, lake_spark: None) -> Single:
    """Return a catalog without a table."""
    kind: type[Single] = request.param
    return kind(tmp_path, request.getfixturevalue(kind.server) if kind.server else None)


@pytest.fixture
def replica(databases: Databases, tmp_path: Path, single: Single, monkeypatch: pytest.MonkeyPatch) -> Iterator[Replica]:
    """Return a channel into it."""
    monkeypatch.setattr(repetition, "LONGEST_PAUSE", 0.01)
    drops = [{"add_table_pattern": "*", "on_drop_table": "DROP_FROM_CHANNEL_AND_TARGET"}]
    yield Replica(databases.source, "", channel_file(tmp_path, databases.source, single.location, adapt_ddl=drops))
