"""One channel brings a database's tables to a server, into a file and into a lake, with all of their changes."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.lake.connection.session import lake_session
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.lakes.channel import Lake

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.timeout(900), pytest.mark.usefixtures("lake_spark")]
ROUNDS = (
    (
        "INSERT INTO orders SELECT i, i * 1.5, 'later ' || i FROM generate_series(101, 140) i",
        "ALTER TABLE orders ADD COLUMN paid boolean DEFAULT false",
        "UPDATE orders SET paid = true, amount = amount + 1 WHERE id % 3 = 0",
        "ALTER TABLE orders RENAME note TO remark",
        "DELETE FROM orders WHERE id % 7 = 0",
        "INSERT INTO log SELECT 'again' FROM generate_series(1, 3)",
    ),
    (
        "CREATE TABLE items (id int PRIMARY KEY, order_id bigint, at timestamptz)",
        "INSERT INTO items SELECT i, i, now() FROM generate_series(1, 20) i",
        "ALTER TABLE orders DROP COLUMN remark",
        "ALTER TABLE orders ADD COLUMN remark int",
        "UPDATE orders SET remark = id WHERE id > 100",
        "DELETE FROM log WHERE ctid = (SELECT min(ctid) FROM log)",
    ),
    ("TRUNCATE items", "ALTER TABLE orders RENAME TO sales", "UPDATE sales SET id = id + 1000 WHERE id % 5 = 0"),
)


def test_a_server_a_file_and_a_lake_are_as_the_source_after_each_cycle(databases: Databases, tmp_path: Path) -> None:
    shop = Lake(databases.source, tmp_path)
    channel = yaml.safe_load(shop.file.read_text())
    channel["targets"] += [
        {"name": "server", "location": databases.target},
        {"name": "file", "location": f"duckdb://{tmp_path}/copy.duckdb"},
    ]
    shop.file.write_text(yaml.safe_dump(channel))
    shop.at_source("CREATE TABLE orders (id bigint PRIMARY KEY, amount numeric(12,2), note text)")
    shop.at_source("INSERT INTO orders SELECT i, i, 'note ' || i FROM generate_series(1, 100) i")
    shop.at_source("CREATE TABLE log (what text)", "ALTER TABLE log REPLICA IDENTITY FULL")
    shop.at_source("INSERT INTO log VALUES ('first'), ('first')")
    shop.activate()
    apps = set()
    for statements in ROUNDS:
        shop.at_source(*statements)
        with flow.open_channel(shop.file, InProcess()) as cycle:
            positions = flow.replicate(cycle).to_json()["integrate"]["positions"]
            assert len({*positions.values()}) == 1 and positions.keys() == {"warehouse", "server", "file"}
            found = flow.compare(cycle)
            assert found.is_equal and {one.at for one in found.tables} == positions.keys(), found.text()
            done = flow.by_arguments.maintain(cycle, retain="0s", small_files="2")
            assert all(table.startswith("warehouse ") for table in done.tables) and not done.left
        apps.add(lake_session(shop.location).sparkContext.applicationId)
    assert len(apps) == 1  # it stays warm from window to window
    assert len(shop.read(TableName("public", "sales"))) == 120
