"""The parameter files of docs/examples/goldengate replicate as their page says."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_ddlrepl.demo.servers import PrivateServer
from tests.support.replica import Replica, run

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples" / "goldengate"


@pytest.fixture
def crm(pg18: PrivateServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Replica]:
    """The channel of the folder `reporting`, between databases of its own; its source has rows before activation."""
    source, target = (pg18.create_database(f"example_{side}") for side in ("source", "target"))
    for name, url in (("CRM_DB", source), ("WAREHOUSE_DB", target)):
        monkeypatch.setenv(f"AIRFLOW_CONN_{name}", url)
    monkeypatch.setenv("DDLREPL_HOME", str(tmp_path / "home"))
    shutil.copytree(EXAMPLES / "reporting", tmp_path / "reporting")
    yield Replica(source, target, tmp_path / "reporting" / "crm.yml")
    for url in (source, target):
        pg18.drop_database(url.rpartition("/")[2])


def test_a_warehouse_has_other_columns_rows_keys_and_a_history(crm: Replica) -> None:
    run(
        crm.source,
        "CREATE SCHEMA crm",
        "CREATE TABLE crm.customer (id int PRIMARY KEY, mail text NOT NULL, region text, password text)",
        "CREATE TABLE crm.invoice (id int PRIMARY KEY, state text)",
        "CREATE TABLE crm.price (id int PRIMARY KEY, amount int)",
        "INSERT INTO crm.customer VALUES (1, 'ada@example.org', 'EU', 'x'), (2, 'bob@example.org', 'US', 'y')",
        "INSERT INTO crm.invoice VALUES (1, 'paid'), (2, 'open')",
        "INSERT INTO crm.price VALUES (1, 10)",
    )
    crm.activate()
    assert crm.rows("SELECT customer_number, mail, region, system FROM dw.customer") == [
        (1, "ada@example.org", "EU", "crm")
    ]
    crm.at_source(
        "UPDATE crm.customer SET region = 'EU' WHERE id = 2",
        "UPDATE crm.customer SET id = 7 WHERE id = 1",
        "UPDATE crm.invoice SET state = 'paid' WHERE id = 2",
        "DELETE FROM crm.invoice WHERE id = 1",
        "UPDATE crm.price SET amount = 11",
        "ALTER TABLE crm.price ADD currency text",
        "UPDATE crm.price SET amount = 12, currency = 'EUR'",
        "DELETE FROM crm.price",
    )
    crm.replicate()
    customers = "SELECT customer_number, mail, changed_at > '2020-01-01' FROM dw.customer ORDER BY mail"
    assert crm.rows(customers) == [(7, "ada@example.org", True), (2, "bob@example.org", True)]
    assert crm.rows("SELECT * FROM dw.invoice ORDER BY id") == [(1, "paid"), (2, "paid")]
    history = "SELECT operation, amount, currency FROM dw.price_history ORDER BY op_position, op_sequence"
    assert crm.rows(history) == [
        ("refresh", 10, None),
        ("update", 11, None),
        ("update", 12, "EUR"),
        ("delete", 12, "EUR"),
    ]
