"""The channel `hr` has five clients of Streams; one target waits at its error queue, and messages wait in queues."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.errors import ApplyError
from airflow_ddlrepl.flow.reporting.keep_status import take_status
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.ports.work import InProcess
from tests.airflow.support import shop

EXAMPLE = Path(__file__).parents[4] / "docs" / "examples" / "streams" / "five_clients" / "hr.yml"
BEFORE = [
    "CREATE SCHEMA hr",
    "CREATE SCHEMA oe",
    "CREATE TABLE hr.employees (id int PRIMARY KEY, name text, department_id int, salary int)",
    "CREATE TABLE oe.orders (id int PRIMARY KEY, state text)",
    "INSERT INTO hr.employees SELECT i, 'name ' || i, 50, 100 FROM generate_series(1, 20) i",
]
PLACES = ("hr", "headquarters", "branch")


def write_staff(folder: Path, home: Path, databases: PrivateServer) -> Path:
    """The channel file of the example, with databases of its own."""
    text = EXAMPLE.read_text().replace("${HR_BRANCH_QUEUE}", f"file://{home}/branch")
    for name in PLACES:
        text = text.replace(f"location: {name}_db", f"location: {databases.create_database(f'staff_{name}')}")
    file = folder / "hr.yaml"
    file.write_text(f"{text}repository: sqlite:///{home}/hr.db\ntrail: {home}/hr.trail\n")
    return file


def run_staff(file: Path, databases: PrivateServer) -> None:
    """All clients work; then a row at headquarters is in the way of one that comes, and later ones wait in queues."""
    source, headquarters = databases.dsn("staff_hr"), databases.dsn("staff_headquarters")
    shop.run_sql(source, BEFORE)
    shop.activate(file)
    for number in range(3):
        first = 100 * number + 100
        shop.run_sql(source, [
            f"INSERT INTO hr.employees SELECT i, 'more', 50, 1 FROM generate_series({first}, {first + 40}) i",
            f"INSERT INTO oe.orders SELECT i, 'new' FROM generate_series({first}, {first + 3}) i",
        ])  # fmt: skip
        shop.replicate(file)
    shop.run_sql(headquarters, ["INSERT INTO staff.employees (id, name) VALUES (1000, 'in the way')"])
    shop.run_sql(source, ["INSERT INTO hr.employees VALUES (1000, 'Ada', 50, 1)"])
    with pytest.raises(ApplyError):
        shop.replicate(file)
    shop.run_sql(source, [
        "INSERT INTO hr.employees SELECT i, 'later', 50, 1 FROM generate_series(2000, 2030) i",
        "INSERT INTO oe.orders VALUES (5000, 'later')",
    ])  # fmt: skip
    with RunContext(load_channel(file), InProcess(), "later") as context:
        flow.capture(context)
    shop.run_sql(source, ["INSERT INTO hr.employees VALUES (3000, 'last', 50, 1)"])
    with RunContext(load_channel(file), InProcess(), "look") as context:
        take_status(context, "status")
