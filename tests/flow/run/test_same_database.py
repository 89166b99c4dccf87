"""Places that are one database: what can't go well there is refused before anything is done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.errors import TargetError
from tests.support.replica import Replica, channel_file

TABLE = ("create table t (id int primary key)", "insert into t select generate_series(1, 5)")


def test_two_targets_in_one_database(databases: Any, tmp_path: Path) -> None:
    """It knows one position of a channel: what one target has got, the other would be taken to have."""
    targets = [
        {"name": name, "location": databases.target, "schemas": {"public": name}, "lock_timeout": "1s"}
        for name in ("one", "two")
    ]
    replica = Replica(
        databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target, targets=targets)
    )
    replica.at_source(*TABLE)
    with pytest.raises(TargetError, match="TGT-105: targets one and two are one database"):
        replica.activate()


def test_a_target_that_is_the_source(databases: Any, tmp_path: Path) -> None:
    target = {"name": "warehouse", "location": databases.source, "existing_tables": "replace"}
    replica = Replica(
        databases.source, databases.source, channel_file(tmp_path, databases.source, databases.source, targets=[target])
    )
    replica.at_source(*TABLE)
    with pytest.raises(TargetError, match=r"TGT-106: .* and public\.t is a table of the source"):
        replica.activate()
    assert replica.rows("select count(*) from t") == [(5,)]


def test_another_schema_of_the_source(databases: Any, tmp_path: Path) -> None:
    target = {"name": "warehouse", "location": databases.source, "schemas": {"public": "copy"}}
    file = channel_file(tmp_path, databases.source, databases.source, source={"tables": ["public.*"]}, targets=[target])
    replica = Replica(databases.source, databases.source, file)
    replica.at_source(*TABLE)
    replica.activate()
    replica.at_source("insert into t values (6)")
    replica.replicate()
    assert replica.rows("select count(*) from copy.t") == [(6,)]
