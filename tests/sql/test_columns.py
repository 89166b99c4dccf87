"""What an ALTER TABLE says of its columns' names."""

from __future__ import annotations

import pytest

from airflow_ddlrepl.sql.columns import column_changes
from airflow_ddlrepl.sql.dialect import Dialect

NONE: frozenset[str] = frozenset()


@pytest.mark.parametrize(
    ("text", "renamed", "dropped"),
    [
        ("ALTER TABLE t RENAME COLUMN a TO b", {"b": "a"}, NONE),
        ("alter table if exists s.t rename a to b", {"b": "a"}, NONE),
        ("alter table t rename column a to b, rename column b to a", {"b": "a", "a": "b"}, NONE),
        ("alter table t change a `b c` varchar(10) default ',', change column x x int", {"b c": "a"}, NONE),
        ("alter table t add c decimal(3, 2), change a b int /* , drop z */", {"b": "a"}, NONE),
        ("alter table t drop column if exists a, drop b, add column a int", {}, frozenset("ab")),
        ("alter table t drop index a, drop primary key, drop constraint c, rename index i to j", {}, NONE),
        ("alter table t add column (x int, y int), drop foreign key f", {}, NONE),
        ("create table t (a int)", {}, NONE),
        ("alter view t rename column a to b", {}, NONE),
    ],
)
def test_columns_that_get_other_names_or_go(text: str, renamed: dict[str, str], dropped: frozenset[str]) -> None:
    found = column_changes(text, Dialect.MYSQL)
    assert (dict(found.renamed), found.dropped, found.table) == (renamed, dropped, None)


@pytest.mark.parametrize(
    "text", ["alter table t rename to u", "alter table t add x int, rename as u", "alter table t rename u, drop a"]
)
def test_a_tables_other_name(text: str) -> None:
    table = column_changes(text, Dialect.MYSQL).table
    assert table is not None and (table.schema, table.name) == ("", "u")
