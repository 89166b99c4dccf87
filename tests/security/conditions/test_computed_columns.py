"""Columns that the channel file has a target compute: rows and changes of one table under them stop no other table."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl.errors import DdlReplError
from tests.conftest import Databases
from tests.security.conditions.test_hostile_rows import states
from tests.support.replica import Replica, channel_file

EXTRA = [
    {"tables": "c_sum", "extra": {"computed": "n + 1"}},
    {"tables": "c_cast", "extra": {"computed": "amount::int"}},
    {"tables": "c_text", "extra": {"computed": "note LIKE '\\%s%' AND note IS NOT NULL"}},
]
TABLES = ("c_sum", "c_cast", "c_text")
ROWS = (
    "INSERT INTO c_sum VALUES (2, 2147483647, 1, '')",
    "INSERT INTO c_cast VALUES (2, 1, 'NaN', '')",
    "INSERT INTO c_text VALUES (2, 1, 1, repeat('%s {0} $1', 400000))",
)
CHANGES = {
    "dropped": ("ALTER TABLE c_sum DROP n", "ALTER TABLE c_cast DROP amount", "ALTER TABLE c_text DROP note"),
    "renamed": (
        "ALTER TABLE c_sum RENAME n TO m",
        "ALTER TABLE c_cast RENAME amount TO \"a\"\"; x\"",
        "ALTER TABLE c_text RENAME note TO \"n.\no\"",
    ),
}  # fmt: skip


def begun(databases: Databases, folder: Path) -> Replica:
    replica = Replica(
        databases.source,
        databases.target,
        channel_file(folder, databases.source, databases.target, target_tables=EXTRA),
    )
    replica.at_source("CREATE TABLE other (id int PRIMARY KEY)")
    for name in TABLES:
        replica.at_source(
            f"CREATE TABLE {name} (id int PRIMARY KEY, n int, amount numeric, note text)",
            f"INSERT INTO {name} VALUES (1, 10, 10.4, 'a')",
        )
    replica.begin()
    return replica


def stops_alone(replica: Replica, *names: str) -> None:
    replica.at_source("INSERT INTO other SELECT coalesce(max(id), 0) + 1 FROM other")
    with pytest.raises(DdlReplError, match="INT-123"):
        replica.replicate()
    assert {name for name, state in states(replica).items() if state == "suspended"} == set(names)
    assert replica.rows("SELECT count(*) > 0 FROM other") == [(True,)]


def test_rows_without_a_computed_value_stop_their_own_tables(databases: Databases, tmp_path: Path) -> None:
    replica = begun(databases, tmp_path)
    assert replica.rows("SELECT computed FROM c_cast") == [(10,)]
    replica.at_source(*ROWS)
    stops_alone(replica, "c_sum", "c_cast")
    assert replica.rows("SELECT computed FROM c_text ORDER BY id") == [(False,), (True,)]
    replica.at_source("DELETE FROM c_sum WHERE id = 2", "DELETE FROM c_cast WHERE id = 2")
    replica.refresh("public.c_sum", "public.c_cast")
    replica.settle()


@pytest.mark.parametrize("kind", CHANGES)
def test_a_table_without_a_column_of_its_expression_stops_alone(
    databases: Databases, tmp_path: Path, kind: str
) -> None:
    replica = begun(databases, tmp_path)
    replica.at_source(*CHANGES[kind])
    stops_alone(replica, *TABLES)
    replica.at_source(*(f"INSERT INTO {name} (id) VALUES (3)" for name in TABLES))
    stops_alone(replica, *TABLES)
