"""A column that people added to the target's table is theirs: no refresh drops it or loses its values."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import CannotAdapt
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.flow.apply.test_kept_columns import ROWS, VOLATILE
from tests.support.replica import Replica, channel_file


def _refresh(replica: Replica, table: str) -> None:
    with flow.open_channel(replica.file, InProcess()) as run:
        flow.refresh(run, [table])


def test_columns_of_the_target_keep_their_values(databases: Databases, tmp_path: Path) -> None:
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY, v text)", "INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    replica.activate()
    replica.at_target('ALTER TABLE t ADD COLUMN "own note" text', "UPDATE t SET \"own note\" = 'mine' WHERE id = 2")
    replica.at_source("DELETE FROM t WHERE id = 1", "INSERT INTO t VALUES (3, 'c')")
    replica.at_source("ALTER TABLE t ALTER v TYPE varchar(9)")
    _refresh(replica, "public.t")
    replica.replicate()
    assert replica.rows('SELECT id, v, "own note" FROM t ORDER BY id') == [(2, "b", "mine"), (3, "c", None)]


def test_without_a_key_it_is_refused_and_nothing_changes(databases: Databases, tmp_path: Path) -> None:
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.at_source("CREATE TABLE t (v text)", "INSERT INTO t VALUES ('a')")
    replica.activate()
    replica.at_target("ALTER TABLE t ADD COLUMN own int DEFAULT 5")
    with pytest.raises(CannotAdapt) as refused:
        _refresh(replica, "public.t")
    assert refused.value.code == "ADP-132"
    assert replica.rows("SELECT v, own FROM t") == [("a", 5)]


@pytest.mark.parametrize(
    "change", ["ALTER TABLE t RENAME id TO ident", "ALTER TABLE t ALTER id TYPE numeric(9,2) USING id::numeric * 1"]
)
def test_the_key_changes_with_what_is_loaded(databases: Databases, tmp_path: Path, change: str) -> None:
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.at_source(*ROWS)
    replica.activate()
    replica.at_target("ALTER TABLE t ADD own text", "UPDATE t SET own = 'mine' WHERE id = 2")
    replica.at_source(VOLATILE, change)
    assert set(replica.replicate().refresh.tables) == {"public.t"}
    assert replica.rows("SELECT v, own FROM t ORDER BY v") == [("a", None), ("b", "mine")]


@pytest.mark.parametrize("options", ["", "-gr"])
def test_a_new_column_of_the_source_does_not_overwrite_it(databases: Databases, tmp_path: Path, options: str) -> None:
    actions = [{"add_table_pattern": "*", "refresh_options": options}]
    file = channel_file(tmp_path, databases.source, databases.target, adapt_ddl=actions)
    replica = Replica(databases.source, databases.target, file)
    replica.at_source(*ROWS)
    replica.activate()
    replica.at_target("ALTER TABLE t ADD c text", "UPDATE t SET c = 'mine' WHERE id = 2")
    replica.at_source(VOLATILE)
    with pytest.raises(CannotAdapt, match="ADP-105"):
        replica.replicate()
    assert replica.rows("SELECT id, c FROM t ORDER BY id") == [(1, None), (2, "mine")]
    replica.at_target("ALTER TABLE t RENAME c TO own")
    assert set(replica.replicate().refresh.tables) == {"public.t"}
    assert replica.rows("SELECT count(c), max(own) FROM t") == [(2, "mine")]
