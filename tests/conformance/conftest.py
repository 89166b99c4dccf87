"""Every test of the suite runs for each engine, on a channel of its own from a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import places
from tests.conftest import Databases

ENGINES = ("postgres", "files", "duckdb")
MakePlace = Callable[..., places.Place]


@pytest.fixture(params=ENGINES)
def make_place(request: pytest.FixtureRequest, databases: Databases, tmp_path: Path) -> MakePlace:
    """A function that gives a channel that is not activated yet; more: of its file."""

    def make(**more: Any) -> places.Place:
        if request.param == "postgres":
            return places.postgres(tmp_path, databases.source, databases.target, **more)
        place = places.files if request.param == "files" else places.duckdb
        return place(tmp_path, databases.source, **more)

    return make
