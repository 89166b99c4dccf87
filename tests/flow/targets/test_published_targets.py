"""A target whose tables all are in somebody's publication."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.errors import TargetError
from tests.support.replica import Replica, channel_file, run


def test_a_table_without_a_key_needs_an_identity_there(databases: Any, tmp_path: Path) -> None:
    """Our own tables have keys; a table of the channel that has none is named, with the statement that helps."""
    run(databases.target, "CREATE PUBLICATION somebody_s FOR ALL TABLES")
    made = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    made.at_source("CREATE TABLE t (id int)", "CREATE TABLE k (id int PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)")
    made.activate()
    made.at_source("INSERT INTO k VALUES (3)", "UPDATE k SET id = 4", "INSERT INTO t VALUES (3)")
    made.replicate()
    made.at_source("UPDATE t SET id = 5 WHERE id = 3", "DELETE FROM t WHERE id = 1")
    with pytest.raises(TargetError, match="does not have a replica identity") as raised:
        made.replicate()
    assert (raised.value.code, raised.value.table) == ("INT-105", "public.t")
    assert "REPLICA IDENTITY FULL" in raised.value.hint
    made.at_target("ALTER TABLE t REPLICA IDENTITY FULL")
    made.replicate()
    assert made.rows("SELECT id FROM t ORDER BY 1") == [(2,), (5,)]
    made.check_equal()
