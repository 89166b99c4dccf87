"""Every test of the suite runs for each engine, on a channel of its own from a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import places
from tests.conformance.lake_place import iceberg, iceberg_in_rest
from tests.conftest import Databases
from tests.support.lakes.reader import Beside
from tests.support.lakes.rest import rest_server

LAKE = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(1800)]
ENGINES: tuple[Any, ...] = (
    "postgres",
    "files",
    "duckdb",
    pytest.param("iceberg", marks=LAKE),
)
"""One process of a run has the Java that writes the lakes: it starts once; a run that is killed has its own."""
IN_POSTGRES = pytest.param("iceberg_in_postgres", marks=LAKE)
"""A lake whose catalog is in PostgreSQL."""
IN_REST = pytest.param("iceberg_in_rest", marks=LAKE)
"""A lake whose catalog a REST server has."""
MakePlace = Callable[..., places.Place]


@pytest.fixture(params=ENGINES)
def make_place(request: pytest.FixtureRequest, databases: Databases, tmp_path: Path) -> Iterator[MakePlace]:
    """A function that gives a channel that is not activated yet; more: of its file."""
    beside: list[Beside] = []
    with ExitStack() as stack:

        def make(**more: Any) -> places.Place:
            if request.param == "postgres":
                return places.postgres(tmp_path, databases.source, databases.target, **more)
            if request.param in IN_REST.values:
                request.getfixturevalue("lake_spark")
                rest = stack.enter_context(rest_server(tmp_path / "server"))
                return iceberg_in_rest(tmp_path, databases.source, rest, **more)
            if request.param.startswith("iceberg"):
                request.getfixturevalue("lake_spark")
                server = databases.target if request.param in IN_POSTGRES.values else ""
                lake = iceberg(tmp_path, databases.source, beside, server, **more)
                stack.enter_context(beside[-1])
                return lake
            place = places.files if request.param == "files" else places.duckdb
            return place(tmp_path, databases.source, **more)

        yield make
    for one in beside:
        one.check()
