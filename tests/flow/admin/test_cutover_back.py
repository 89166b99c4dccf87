"""The way back after a cut-over: a channel in the other direction brings what applications wrote at the target."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.replica import Replica, channel_file


@pytest.mark.parametrize("databases", [18, 15], indirect=True, ids=["pg18", "pg15"])
def test_applications_go_back_with_the_rows_that_they_have_written(databases: Databases, tmp_path: Path) -> None:
    there, back = tmp_path / "there", tmp_path / "back"
    for folder in (there, back):
        folder.mkdir()
    file = channel_file(there, databases.source, databases.target, db_sequence=True)
    replica = Replica(databases.source, databases.target, file)
    replica.at_source(
        "CREATE TABLE orders (id serial PRIMARY KEY, amount int)", "INSERT INTO orders (amount) VALUES (10), (20)"
    )
    replica.activate()
    cut_over(replica)

    target = {"name": "shop", "location": databases.source, "existing_tables": "replace"}
    data = {"channel": "shop_back", "targets": [target], "source": {"slot": "back"}, "db_sequence": True}
    reverse = Replica(
        databases.target, databases.source, channel_file(back, databases.target, databases.source, **data)
    )
    with flow.open_channel(reverse.file, InProcess()) as run:
        flow.activate(run)
    replica.at_target("INSERT INTO orders (amount) VALUES (30)", "ALTER TABLE orders ADD note text")  # an application
    cut_over(reverse)
    replica.at_source("INSERT INTO orders (amount, note) VALUES (40, 'back')")
    assert reverse.rows("SELECT id, amount, note FROM orders ORDER BY id") == [
        (1, 10, None),
        (2, 20, None),
        (3, 30, None),
        (4, 40, "back"),
    ]


def cut_over(replica: Replica) -> None:
    with flow.open_channel(replica.file, InProcess()) as run:
        flow.cut_over(run, compares=True)
