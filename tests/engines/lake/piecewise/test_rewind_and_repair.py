"""A lake whose tables change one after the other goes back and on again, and its rows are repaired."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl.engines.lake.catalog import publishing
from airflow_ddlrepl.engines.lake.catalog.piecewise import publish
from airflow_ddlrepl.model.names import TableName
from tests.conftest import Databases
from tests.support.lakes import rolled_back
from tests.support.lakes.rewound import tell
from tests.support.lakes.single import KINDS, Single

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.server, pytest.mark.timeout(900)]


@pytest.fixture
def past(request: pytest.FixtureRequest, tmp_path: Path, single: Single) -> Single:
    """The lake in which tables are built as they were, in a catalog of another kind."""
    other = KINDS[KINDS.index(type(single)) - 1]
    folder = tmp_path / "past"
    folder.mkdir()
    return other(folder, request.getfixturevalue(other.server) if other.server else None)


def shown(lake: Single) -> int:
    """How many rows the partitions have."""
    return sum(
        len(lake.read(name))
        for name in lake.pointers()
        if name in (TableName("public", "p1"), TableName("public", "p2"))
    )


def test_tables_go_back_and_on_again_and_rows_are_repaired(
    databases: Databases, tmp_path: Path, single: Single, past: Single
) -> None:
    tell(databases.source, tmp_path, (single, single.location), (past, past.location), shown)


def test_a_table_is_rolled_back_also_where_the_run_is_killed(
    databases: Databases, tmp_path: Path, single: Single
) -> None:
    points = {"lake.intent": publishing, "lake.swapped": publish, "lake.published": publishing}
    rolled_back.tell(databases.source, tmp_path, single, single.location, points)
