"""A repository that is lost, or another one's channel of the same name: nothing is mixed up silently."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl.errors import TargetError
from tests.conftest import Databases
from tests.support.replayable import captured, replayable
from tests.support.replica import Replica, channel_file


def test_a_lost_repository_is_told_and_made_good(databases: Databases, tmp_path: Path) -> None:
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY, v text)", "INSERT INTO t VALUES (1, 'a')")
    replica.activate()
    replica.at_source("INSERT INTO t VALUES (2, 'b')", "ALTER TABLE t ADD COLUMN w int DEFAULT 7")
    replica.settle()
    for file in tmp_path.glob("repository.db*"):
        file.unlink()
    replica.at_source("UPDATE t SET v = 'x' WHERE id = 1")
    with pytest.raises(TargetError) as refused:
        replica.activate()
    assert refused.value.code == "TGT-103"
    assert replica.rows("SELECT id, v, w FROM t ORDER BY id") == [(1, "a", 7), (2, "b", 7)]
    target = {"name": "warehouse", "location": databases.target, "existing_tables": "replace"}
    channel_file(tmp_path, databases.source, databases.target, targets=[target])
    replica.activate()
    replica.at_source("INSERT INTO t VALUES (3, 'c', 1)")
    replica.settle()
    assert replica.rows("SELECT id, v, w FROM t ORDER BY id") == [(1, "x", 7), (2, "b", 7), (3, "c", 1)]


@pytest.mark.parametrize("onward", [False, True])
def test_a_replay_of_an_earlier_life_is_replaced_where_that_is_allowed(
    databases: Databases, tmp_path: Path, onward: bool
) -> None:
    place = {"location": databases.target, "schemas": {"public": "past"}}
    replica = replayable(databases, tmp_path, **place)
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    replica.activate()
    for number in (2, 3):
        replica.at_source(f"INSERT INTO t VALUES ({number})")
        replica.rewind(captured(replica))
    for file in tmp_path.glob("repository.db*"):
        file.unlink()
    target = {"name": "warehouse", "location": databases.target, "existing_tables": "replace"}
    replayable(databases, tmp_path, **place, targets=[target])
    replica.activate()
    replica.at_source("INSERT INTO t VALUES (4)")
    to = captured(replica)
    with pytest.raises(TargetError, match="replay past contains tables that a channel called shop created") as refused:
        replica.rewind(to, onward=onward)
    assert refused.value.code == "TGT-103"
    assert replica.rows("SELECT id FROM past.t ORDER BY 1") == [(1,), (2,), (3,)]
    replayable(databases, tmp_path, **place, existing_tables="replace", targets=[target])
    for _ in range(2):
        replica.rewind(to, onward=onward)
        assert replica.rows("SELECT id FROM past.t ORDER BY 1") == [(1,), (2,), (3,), (4,)]
