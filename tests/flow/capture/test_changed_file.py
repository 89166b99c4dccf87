"""The channel file changes after activation: it acts from the next cycle on, or the run says what it needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.postgres.source import membership
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import BOTH, Make, Replica, activating

TABLES = (
    "CREATE SCHEMA s2",
    "CREATE TABLE t (id int PRIMARY KEY, v int)",
    "INSERT INTO t VALUES (1, 1)",
    "CREATE TABLE s2.a (id int PRIMARY KEY, v int)",
    "INSERT INTO s2.a VALUES (1, 1)",
)
NARROW = {"tables": ["public.*"]}
WIDE = {"tables": ["public.*", "s2.*"]}
OWNERS = pytest.mark.parametrize("is_owner", [True, False], ids=["owner", "reader"])


def change(replica: Replica, **keys: Any) -> None:
    """Other values for keys of the file; of `source` only these."""
    data = yaml.safe_load(replica.file.read_text())
    for key, value in keys.items():
        data[key] = {**data[key], **value} if key == "source" else value
    replica.file.write_text(yaml.safe_dump(data, sort_keys=False))


def told(replica: Replica) -> list[str]:
    with flow.open_channel(replica.file, InProcess()) as run:
        return [line for line in flow.status(run).text().splitlines() if line.startswith("source: ")]


@pytest.fixture
def owned(databases: Any, tmp_path: Path) -> Any:
    """A channel whose location's role may change what is set up at the source."""

    return activating(databases, tmp_path)


@BOTH
def test_a_pattern_more_publishes_and_loads_its_tables(databases: Any, owned: Make) -> None:
    replica = owned(*TABLES, source=NARROW)
    replica.settle()
    change(replica, source=WIDE)
    found = replica.settle()
    assert [one.partition(" at ")[0] for one in found.capture.joined_or_left] == ["table s2.a: filled"]
    assert found.refresh.tables.keys() == {"s2.a"}
    replica.at_source("INSERT INTO s2.a VALUES (2, 2)", "CREATE TABLE s2.b (id int PRIMARY KEY)")
    replica.at_source("INSERT INTO s2.b VALUES (1)")
    again = replica.settle()
    assert not again.capture.joined_or_left and "s2.a" not in again.refresh.tables
    assert replica.rows("SELECT count(*) FROM s2.a UNION ALL SELECT count(*) FROM s2.b") == [(2,), (1,)]


def test_a_reader_fails_by_the_tables_names_until_an_activation(make: Make) -> None:
    replica = make(*TABLES, source=NARROW)
    replica.settle()
    change(replica, source=WIDE)
    replica.at_source("INSERT INTO t VALUES (2, 2)", "INSERT INTO s2.a VALUES (2, 2)")
    for _ in range(2):
        with pytest.raises(DdlReplError, match=r"SRC-136.*s2\.a"):
            replica.replicate()
    assert replica.rows("SELECT count(*) FROM t") == [(2,)]
    assert not replica.rows("SELECT FROM pg_class WHERE relname = 'a'")
    assert "replay_ddl or MAP; rows of s2.a are in no log" in told(replica)[0]
    replica.activate()
    replica.at_source("INSERT INTO s2.a VALUES (3, 3)")
    replica.settle()
    replica.at_source("INSERT INTO s2.a VALUES (4, 4)")
    assert not replica.settle().refresh.tables and not told(replica)


@OWNERS
def test_new_tables_join_from_then_on(make: Make, owned: Make, is_owner: bool) -> None:
    replica = (owned if is_owner else make)(*TABLES, adapt_ddl=[])
    replica.settle()
    replica.at_source("CREATE TABLE before (id int PRIMARY KEY)")
    change(replica, adapt_ddl=[{"add_table_pattern": "*"}])
    if not is_owner:
        with pytest.raises(DdlReplError, match=r"SRC-136.*public\.before"):
            replica.replicate()
        replica.activate()
    replica.settle()
    replica.at_source("CREATE TABLE late (id int PRIMARY KEY)", "INSERT INTO late VALUES (1)")
    replica.settle()
    replica.at_source("INSERT INTO late VALUES (2)", "INSERT INTO before VALUES (1)")
    assert not replica.settle().refresh.tables
    assert replica.rows("SELECT count(*) FROM late UNION ALL SELECT count(*) FROM before") == [(2,), (1,)]


@OWNERS
def test_a_table_that_is_excluded_leaves_and_comes_back_with_its_rows(make: Make, owned: Make, is_owner: bool) -> None:
    replica = (owned if is_owner else make)(*TABLES)
    replica.settle()
    change(replica, source={"exclude": ["s2.a"]})
    found = replica.replicate()
    if is_owner:
        assert [one.partition(" at ")[0] for one in found.capture.joined_or_left] == ["table s2.a: excluded"]
    else:
        assert found.capture.outdated == ("source.exclude",) and "source.exclude" in told(replica)[0]
        replica.activate()
    replica.at_source("INSERT INTO s2.a VALUES (2, 2)", "INSERT INTO t VALUES (2, 2)")
    replica.replicate()
    assert replica.rows("SELECT count(*) FROM t UNION ALL SELECT count(*) FROM s2.a") == [(2,), (1,)]
    with flow.open_channel(replica.file, InProcess()) as run:
        assert "left out: the channel file excludes it" in flow.status(run).text()
    change(replica, source={"exclude": []})
    if not is_owner:
        replica.activate()
    replica.settle()
    replica.at_source("INSERT INTO s2.a VALUES (3, 3)")
    assert not replica.settle().refresh.tables


def test_a_change_that_was_cut_short_is_done_again(owned: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    replica = owned(*TABLES, source=NARROW)
    replica.settle()
    change(replica, source=WIDE)
    with monkeypatch.context() as patched, pytest.raises(ZeroDivisionError):
        patched.setattr(membership, "set_up_one", lambda *_: 1 / 0)
        replica.replicate()
    assert replica.settle().refresh.tables.keys() == {"s2.a"}


def test_a_schema_at_the_target_that_changes_is_told_and_rows_go_on(make: Make) -> None:
    replica = make(*TABLES)
    replica.settle()
    data = yaml.safe_load(replica.file.read_text())
    change(replica, targets=[{**data["targets"][0], "schemas": {"s2": "other"}}])
    replica.at_source("INSERT INTO s2.a VALUES (2, 2)")
    found = replica.settle()
    assert [one for one in found.adapt.warnings if "s2.a: it stays s2.a" in one and "say other.a" in one]
    with flow.open_channel(replica.file, InProcess()) as run:
        assert "live: it stays s2.a" in flow.status(run).text()


def test_a_table_that_no_pattern_matches_any_more_stays_and_is_named(owned: Make) -> None:
    replica = owned(*TABLES, source=WIDE)
    replica.settle()
    change(replica, source=NARROW)
    replica.at_source("INSERT INTO s2.a VALUES (2, 2)")
    found = replica.settle()
    (one,) = found.capture.joined_or_left
    assert one.startswith("table s2.a: no pattern of `tables` matches it, and it stays in the channel until `exclude`")
    assert replica.rows("SELECT count(*) FROM s2.a") == [(2,)]
    assert not replica.settle().capture.joined_or_left
