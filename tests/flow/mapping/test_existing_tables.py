"""A table of somebody else's stands at the target under the name of a table that joins the channel later."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl.errors import CannotAdapt
from tests.conftest import Databases
from tests.support.refusing import edit
from tests.support.replica import Replica, channel_file

NEW = {
    "empty": ("CREATE TABLE late (id int PRIMARY KEY, v text)", "INSERT INTO late VALUES (1, 'one')"),
    "filled": ("CREATE TABLE late AS SELECT 1 AS id, 'one' AS v",),
    "partition": (
        "CREATE TABLE p (id int PRIMARY KEY, v text) PARTITION BY LIST (id)",
        "CREATE TABLE late PARTITION OF p DEFAULT",
        "INSERT INTO p VALUES (1, 'one')",
    ),
}


@pytest.mark.parametrize("statements", NEW.values(), ids=NEW)
def test_its_rows_are_overwritten_only_where_that_is_asked_for(
    databases: Databases, tmp_path: Path, statements: tuple[str, ...]
) -> None:
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)")
    replica.activate()
    replica.at_target("CREATE TABLE late (id int PRIMARY KEY, mine text)", "INSERT INTO late VALUES (7, 'precious')")
    replica.at_source("INSERT INTO t VALUES (1)", *statements)
    with pytest.raises(CannotAdapt, match="ADP-120"):
        replica.replicate()
    assert replica.rows("SELECT t.id, late.id, mine FROM t, late") == [(1, 7, "precious")]
    edit(replica.file, "- name: warehouse\n", "- name: warehouse\n  existing_tables: replace\n")
    replica.settle()
    assert replica.rows("SELECT id, v FROM late") == [(1, "one")]
