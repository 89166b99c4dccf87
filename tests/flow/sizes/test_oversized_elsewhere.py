"""A Replicat and a channel with HVR's defaults load the tables of a transaction again that the server can't send."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.engines.postgres.log.oversized import CODE
from tests.flow.sizes.test_oversized_rows import VALUE
from tests.support.replica import Make
from tests.support.replicating import replicat

LARGE = "CREATE TABLE hr.large (id int PRIMARY KEY, a text, b text)"
OVERSIZED = f"BEGIN; {VALUE}; INSERT INTO hr.large SELECT 1, a, a FROM value; COMMIT"
REST = ("UPDATE hr.large SET b = 'now' WHERE id = 1", "DELETE FROM hr.large WHERE id = 1")


def test_a_replicat(make: Make, databases: Any) -> None:
    made = replicat(make, databases, LARGE, "INSERT INTO hr.large VALUES (7, 'a', 'b')")
    made.at_source(OVERSIZED, "UPDATE hr.large SET b = 'c' WHERE id = 7", *REST, "UPDATE hr.pay SET v = 2")
    done = made.settle()
    assert set(done.refresh.tables) == {"bk.bak_large"}
    assert all(CODE in why for why in done.refresh.reasons.values())
    assert made.rows("SELECT * FROM bk.bak_large") == [(7, "a", "c")]
    assert made.rows("SELECT v FROM bk.bak_pay") == [(2,)]


def test_the_defaults_of_hvr(make: Make) -> None:
    tables = ("CREATE SCHEMA hr", LARGE, "CREATE TABLE hr.other (id int PRIMARY KEY)")
    made = make(*tables, "INSERT INTO hr.large VALUES (7, 'a', 'b')", defaults="hvr")
    made.at_source(OVERSIZED, "UPDATE hr.large SET b = 'c' WHERE id = 7", *REST, "INSERT INTO hr.other VALUES (1)")
    done = made.settle()
    assert set(done.refresh.tables) == {"hr.large"}
    assert made.rows("SELECT * FROM hr.large") == [(7, "a", "c")]
    assert made.rows("SELECT * FROM hr.other") == [(1,)]
