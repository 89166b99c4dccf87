"""A lake in a REST catalog goes back and on again, tables are built in one as they were, and rows are repaired."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_ddlrepl.engines.lake.catalog import publishing
from tests.conftest import Databases
from tests.support.lakes import rolled_back
from tests.support.lakes.rest import Rest, rest_server
from tests.support.lakes.rewound import tell

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.server,
    pytest.mark.timeout(900),
    pytest.mark.usefixtures("lake_spark"),
]


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Rest]:
    """The server of the lake in which tables are built as they were."""
    with rest_server(tmp_path / "other") as found:
        yield found


def shown(rest: Rest) -> int:
    """How many rows the view of the partitioned table shows."""
    return int(rest.somebody().sql("SELECT * FROM lake.public.p").count())


def lake(folder: Path, rest: Rest) -> tuple[Rest, str]:
    return rest, f"iceberg://{folder}/state.db?warehouse={folder}/wh&{rest.settings()}"


def test_tables_go_back_and_on_again_and_rows_are_repaired(
    databases: Databases, tmp_path: Path, rest: Rest, other: Rest
) -> None:
    tell(databases.source, tmp_path, lake(tmp_path / "now", rest), lake(tmp_path / "past", other), shown)


def test_a_table_is_rolled_back_also_where_the_run_is_killed(databases: Databases, tmp_path: Path, rest: Rest) -> None:
    points = {"lake.intent": publishing, "lake.published": publishing}
    rolled_back.tell(databases.source, tmp_path, *lake(tmp_path, rest), points)
