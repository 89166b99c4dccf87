"""Tables with generated columns and no key: what is changed at the source arrives, and nobody is refused there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import update

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.model.record import RELOADED
from airflow_ddlrepl.ports.work import InProcess
from airflow_ddlrepl.repository.stored import tables
from tests.conftest import Databases
from tests.flow.capture.test_left_out import status
from tests.flow.capture.test_without_triggers import both
from tests.support.replica import Replica, channel_file

GEN = "CREATE TABLE gen (id int PRIMARY KEY, a int, b int GENERATED ALWAYS AS (a * 2) STORED)"
PLAIN = "CREATE TABLE {} (id int, a int, b int GENERATED ALWAYS AS (a * 2) STORED)"
VIRTUAL = "CREATE TABLE {} (id int, a int, v int GENERATED ALWAYS AS (a * 3) VIRTUAL)"
OWN = "CREATE FUNCTION twice(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 * 2'"


def begun(databases: Databases, folder: Path, *statements: str, ddl: str = "auto") -> Replica:
    file = channel_file(folder, databases.source, databases.target, source={"ddl": ddl})
    replica = Replica(databases.source, databases.target, file)
    replica.at_source(*statements)
    replica.activate()
    return replica


NUMBERS = count(1000, 1000)


def change(replica: Replica, *tables: str) -> None:
    """Rows that no earlier call has made come, change, and go."""
    for table in tables:
        low = next(NUMBERS)
        replica.at_source(
            f"INSERT INTO {table} (id, a) SELECT {low} + n, n % 3 FROM generate_series(1, 6) n",
            f"UPDATE {table} SET a = a + 1 WHERE id % 2 = 0",
            f"DELETE FROM {table} WHERE id IN ({low} + 1, {low} + 4)",
            f"UPDATE {table} SET id = id + 100 WHERE id = {low} + 2",
        )


@both
@pytest.mark.parametrize("ddl", ["auto", "relations"])
def test_a_stored_one(databases: Databases, tmp_path: Path, ddl: str) -> None:
    """The key goes, the table is new, or it was there before; it takes part by the log, without a refresh."""
    replica = begun(databases, tmp_path, GEN, "INSERT INTO gen VALUES (1, 1)", PLAIN.format("before"), ddl=ddl)
    change(replica, "gen", "before")
    replica.settle()
    replica.at_source("ALTER TABLE gen DROP CONSTRAINT gen_pkey")
    if ddl == "relations":
        replica.settle()
    replica.at_source("INSERT INTO gen VALUES (2, 2)", "UPDATE gen SET a = 7 WHERE id = 1")
    replica.at_source(PLAIN.format("new"), "CREATE TABLE heir (c text) INHERITS (gen)")
    if ddl == "relations":
        replica.settle()
    change(replica, "gen", "before", "new", "heir")
    assert (replica.settle().refresh.tables == {}) or ddl == "relations"
    change(replica, "gen", "before", "new", "heir")
    result = replica.settle()
    assert result.refresh.tables == {} and result.capture.left_out == {}
    assert replica.rows("SELECT a, b FROM gen WHERE id = 1") == [(7, 14)]
    replica.at_source("ALTER TABLE new ALTER b DROP EXPRESSION", "UPDATE new SET b = 5")
    change(replica, "gen", "new")
    replica.settle()
    replica.at_source("ALTER TABLE gen ADD PRIMARY KEY (id)")
    change(replica, "gen")
    replica.settle()


@both
def test_one_of_a_users_function_comes_with_its_values(databases: Databases, tmp_path: Path) -> None:
    """The target can't compute it. From version 18 on the log carries it, before that the table is loaded anew."""
    own = "CREATE TABLE own (id int PRIMARY KEY, a int, b int GENERATED ALWAYS AS (public.twice(a)) STORED)"
    replica = begun(databases, tmp_path, OWN, own, "INSERT INTO own VALUES (1, 1)")
    for number in (2, 3):
        replica.at_source(f"INSERT INTO own VALUES ({number}, 2)", "UPDATE own SET a = 7 WHERE id = 1")
        loaded = replica.settle().refresh.tables
        assert set(loaded) == (set() if databases.server.version >= 18 else {"public.own"})


def test_a_publication_of_before_is_brought_up_to_date(databases: Databases, tmp_path: Path) -> None:
    """Rows from before and after it are in one window; the next activation does it, and lets tables join."""
    replica = begun(databases, tmp_path, GEN, "INSERT INTO gen VALUES (1, 1)")
    replica.at_source("ALTER PUBLICATION ddlrepl_shop SET (publish_generated_columns = none)")
    change(replica, "gen")
    replica.at_source(PLAIN.format("new"))
    change(replica, "new")
    assert replica.settle().refresh.tables.keys() == {"public.new"}
    replica.at_source("UPDATE gen SET a = a + 1")
    replica.activate()
    change(replica, "gen", "new")
    replica.settle()
    replica.at_source("UPDATE gen SET a = a + 1", "UPDATE new SET a = a + 1")
    assert replica.settle().refresh.tables == {}


def test_a_users_update_never_fails(databases: Databases, tmp_path: Path) -> None:
    """A virtual one comes to a table without a key, and goes again."""
    replica = begun(databases, tmp_path, PLAIN.format("t"))
    change(replica, "t")
    replica.settle()
    replica.at_source("ALTER TABLE t ADD v int GENERATED ALWAYS AS (a * 3) VIRTUAL")
    change(replica, "t")
    replica.replicate()
    change(replica, "t")
    replica.at_source("ALTER TABLE t DROP v")
    change(replica, "t")
    assert replica.settle().refresh.tables.keys() == {"public.t"}
    change(replica, "t")
    assert replica.settle().refresh.tables == {}


@pytest.mark.parametrize("ddl", ["auto", "relations"])
@pytest.mark.parametrize("when", ["before", "new", "heir", "altered"])
def test_a_virtual_one_is_loaded_whole_by_every_cycle(
    databases: Databases, tmp_path: Path, ddl: str, when: str
) -> None:
    """No publication carries it, so no UPDATE could be published: the table is never left behind, and that is said."""
    before = [VIRTUAL.format("t")] if when == "before" else []
    before += ["CREATE TABLE t (id int, a int)"] if when == "altered" else []
    replica = begun(databases, tmp_path, "CREATE TABLE parent (id int PRIMARY KEY)", *before, ddl=ddl)
    made = {
        "new": VIRTUAL.format("t"),
        "heir": "CREATE TABLE t (a int, v int GENERATED ALWAYS AS (a * 3) VIRTUAL) INHERITS (parent)",
        "altered": "ALTER TABLE t ADD v int GENERATED ALWAYS AS (a * 3) VIRTUAL",
    }
    replica.at_source(*([made[when]] if when in made else []))
    replica.settle()
    for _ in range(2):
        change(replica, "t")
        result = replica.settle()
        assert result.refresh.reasons.keys() == {"public.t"} and result.capture.left_out == {}
    assert replica.settle().refresh.tables.keys() == {"public.t"}
    found = status(replica)
    (told,) = [one for one in found.to_json()["targets"]["warehouse"]["tables"] if one["table"] == "public.t"]
    assert told["state"] == "loaded whole" and "generated column and no key" in told["why"]
    assert "  loaded whole since " in found.text() and found.to_json()["left_out"] == []
    with flow.open_channel(replica.file, InProcess()) as run:
        assert flow.has_work(run.channel, "refresh")
        done = run.repository.refreshes("shop", "warehouse", "done")
        assert len([row for row in done if row.reason == RELOADED]) == 1
    replica.at_source("ALTER TABLE t ADD PRIMARY KEY (id)")
    change(replica, "t")
    replica.settle()
    change(replica, "t")
    assert replica.settle().refresh.tables == {}
    assert not flow.has_work(load_channel(replica.file), "refresh")


def test_a_table_that_is_loaded_whole_every_hour(databases: Databases, tmp_path: Path) -> None:
    replica = begun(databases, tmp_path, "CREATE TABLE parent (id int PRIMARY KEY)")
    channel_file(tmp_path, databases.source, databases.target, source={"reload_every": "1h"})
    replica.at_source(VIRTUAL.format("t"))
    change(replica, "t")
    assert replica.settle().refresh.tables.keys() == {"public.t"}
    change(replica, "t")
    assert replica.replicate().refresh.tables == {} and replica.compare().differences
    assert not flow.has_work(load_channel(replica.file), "refresh")
    with flow.open_channel(replica.file, InProcess()) as run:
        refreshes = {"finished": datetime.now(UTC) - timedelta(hours=1)}
        with run.repository._database.write() as connection:
            connection.execute(update(tables.refreshes).values(**refreshes))
    assert flow.has_work(load_channel(replica.file), "refresh")
    replica.settle()
