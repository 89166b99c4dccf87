"""The channel of docs/examples/streams/five_clients: five clients of Streams on real servers, as its page says."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from airflow_ddlrepl import flow
from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.messaging import messaging_client
from airflow_ddlrepl.streams.script.importing import import_streams
from tests.flow.streams.streams_channel import StreamsChannel

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "streams" / "five_clients"
DATABASES = ("hr", "headquarters", "branch")


@pytest.fixture
def places(pg18: PrivateServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """The databases of the example, as Airflow's connections."""
    found = {name: pg18.create_database(f"five_{name}") for name in DATABASES}
    for name, url in found.items():
        monkeypatch.setenv(f"AIRFLOW_CONN_{name.upper()}_DB", url)
    monkeypatch.setenv("DDLREPL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HR_BRANCH_QUEUE", f"file://{tmp_path}/branch")
    yield found
    for url in found.values():
        pg18.drop_database(url.rpartition("/")[2])


def rows(place: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(place) as connection:
        return connection.execute(query.encode()).fetchall()


def test_the_calls_of_the_channel_are_those_of_the_script() -> None:
    found = yaml.safe_load((EXAMPLE / "hr.yml").read_text())["streams"]["calls"]
    assert found == import_streams(EXAMPLE / "setup.sql").to_json()["streams"]["calls"]


def test_changes_go_through_all_clients(places: dict[str, str], tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "example")
    channel = StreamsChannel(places["hr"], tmp_path / "example" / "hr.yml")
    channel.at_source(
        "CREATE SCHEMA hr",
        "CREATE SCHEMA oe",
        "CREATE TABLE hr.employees (id int PRIMARY KEY, name text, department_id int, salary int)",
        "CREATE TABLE hr.scratch (id int PRIMARY KEY)",
        "CREATE TABLE oe.orders (id int PRIMARY KEY, state text)",
        "INSERT INTO hr.employees VALUES (1, 'Ada', 50, 100), (2, 'Bob', 80, 200)",
    )
    channel.activate(load=True)
    everyone = "SELECT id, name, department_id FROM {}.employees ORDER BY id"
    assert rows(places["headquarters"], everyone.format("staff")) == [(1, "Ada", 50), (2, "Bob", 80)]
    assert rows(places["branch"], everyone.format("hr")) == [(1, "Ada", 50)]
    channel.at_source(
        "UPDATE hr.employees SET department_id = 50 WHERE id = 2",
        "ALTER TABLE hr.employees ADD phone text",
        "INSERT INTO hr.employees VALUES (3, 'Eve', 80, 300, '1')",
        "UPDATE hr.employees SET department_id = 80 WHERE id = 1",
        "INSERT INTO hr.scratch VALUES (1)",
        "INSERT INTO oe.orders VALUES (1, 'new')",
        "UPDATE oe.orders SET state = 'paid'",
        "DELETE FROM oe.orders",
    )
    channel.stage(flow.replicate)
    assert rows(places["headquarters"], "SELECT id, name, department_id, phone FROM staff.employees ORDER BY id") == [
        (1, "Ada", 80, None),
        (2, "Bob", 50, None),
        (3, "Eve", 80, "1"),
    ]
    assert rows(places["branch"], everyone.format("hr")) == [(2, "Bob", 50)]
    assert rows(places["headquarters"], "SELECT to_regclass('staff.scratch')::text") == [(None,)]
    assert b"salary" not in channel.bytes_of("headquarters_queue")
    with messaging_client(channel.file, "order_client") as client:
        taken = [(one.command, dict(one.new)) for one in client.dequeue()]  # type: ignore[union-attr]
    assert taken == [("INSERT", {"id": 1, "state": "new"}), ("UPDATE", {"id": 1, "state": "paid"})]
    with messaging_client(channel.file, "order_client") as client:
        assert list(client.dequeue()) == []
