"""Rows of one transaction before and after a statement that changes nothing at the target keep their order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.replica import Replica, channel_file


@pytest.mark.parametrize(
    "rows",
    [
        ("update t set x = 'b' where id < 3", "delete from t where id < 3"),
        ("insert into t values (7, 'new')", "delete from t where id = 7"),
        ("update t set id = id + 100", "update t set x = 'c' where id > 100"),
    ],
    ids=["update and delete", "insert and delete", "key update and update"],
)
def test_rows_around_a_renamed_constraint(databases: Any, tmp_path: Path, rows: tuple[str, str]) -> None:
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.at_source("create table t (id int primary key, x text)")
    replica.at_source("insert into t select i, 'a' from generate_series(1, 5) i")
    replica.activate()
    replica.at_source(f"begin; {rows[0]}; alter table t rename constraint t_pkey to renamed; {rows[1]}; commit")
    replica.settle()
