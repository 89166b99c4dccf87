"""A table of a lake is taken back to a snapshot of its own, and the trail brings it up from there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.lake.target import roll_back as commit
from airflow_ddlrepl.engines.target_state import StateChange
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow.admin import roll_back as module
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table_state import TableStatus
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.lakes.channel import Lake
from tests.support.lakes.outsider import somebody
from tests.support.lakes.reader import pointers
from tests.support.lakes.rolled_back import roll_back, tell
from tests.support.replica import activating

pytestmark = pytest.mark.xdist_group("spark")
THEIRS = "INSERT INTO lake.public.t VALUES (900, 'theirs', 0)"
T, OTHER = TableName("public", "t"), TableName("public", "other")


class Shop(Lake):
    """A channel into a lake, of two tables, which nobody loads again."""

    def start(self) -> None:
        self.at_source(
            "create table t (id int primary key, v text, n int)",
            "create table other (id int primary key, v text)",
            "insert into t select i, 'old', 0 from generate_series(1, 9) i",
            "insert into other values (1, 'old')",
        )
        self.activate()

    def work_on(self, number: int) -> int:
        """A cycle with rows of both tables; return the snapshot that it leaves."""
        self.at_source(
            f"begin; insert into t values ({number * 10}, 'new', {number}); update t set n = n + 1 where id < 4;"
            f" delete from t where id = {number + 3}; update other set v = '{number}'; commit"
        )
        self.replicate()
        return self.current()

    def work(self, number: int) -> int:
        """The same, and source and target are equal."""
        found = self.work_on(number)
        self.check_equal()
        return found

    def current(self, table: TableName = T) -> int:
        return int(self.table(table).current_snapshot().snapshot_id)

    def sql(self, *statements: str) -> None:
        """Somebody changes a table."""
        for one in statements:
            somebody(self.location).sql(one)

    def roll_back(self, wanted: int | None = None, *tables: str) -> Any:
        return roll_back(self, wanted, *tables)

    def refused(self, wanted: int | None = None, *tables: str) -> DdlReplError:
        """The error of a roll back, which has changed nothing."""
        before = self.read(T), self.current()
        with pytest.raises(DdlReplError) as raised:
            self.roll_back(wanted, *tables)
        assert raised.value.code == "REF-102" and (self.read(T), self.current()) == before, raised.value
        return raised.value

    def loads(self) -> int:
        """How often tables were loaded."""
        with flow.open_channel(self.file, InProcess()) as run:
            return len(run.repository.refreshes("shop", "warehouse", "done"))


@pytest.fixture
def shop(databases: Databases, tmp_path: Path, lake_spark: None) -> Shop:
    found = Shop(databases.source, tmp_path)
    found.start()
    return found


def test_a_table_that_somebody_has_taken_back_comes_forward_without_a_load(shop: Shop) -> None:
    first = shop.work(1)
    newest, loads = shop.work(2), shop.loads()
    shop.sql(f"CALL lake.system.rollback_to_snapshot('public.t', {first})", THEIRS)
    theirs = shop.current()
    shop.at_source("insert into t values (77, 'late', 0)", "insert into other values (2, 'goes on')")
    with pytest.raises(DdlReplError) as raised:
        shop.replicate()
    assert "TGT-114" in str(raised.value) and "--from-snapshot newest" in str(raised.value)
    assert len(shop.read(OTHER)) == 2
    told = shop.roll_back().tables["public.t"]
    assert told["snapshot"] == str(newest) and f"snapshot {theirs} (append, 1 rows added" in str(told)
    shop.check_equal()
    assert {"id": "77", "v": "late", "n": "0"} in shop.read(T) and shop.loads() == loads
    shop.work(3)


def test_a_table_that_somebody_has_damaged_goes_back_and_is_brought_up(shop: Shop) -> None:
    before = shop.work(1)
    shop.sql("UPDATE lake.public.t SET v = 'damaged'", THEIRS)
    other = shop.current(OTHER)
    shop.at_source(
        "insert into t values (55, 'late', 5); update t set v = 'changed' where id = 3; delete from t where id = 2"
    )
    shop.replicate()
    shop.at_source("alter table t add column more int", "alter table t drop column more")
    shop.replicate()
    assert any(row["id"] == "900" for row in shop.read(T)), "windows go on upon what others have written"
    shop.sql("DELETE FROM lake.public.t WHERE id = 1")
    loads = shop.loads()
    told = shop.roll_back(before).tables["public.t"]
    assert len(told["removed, written by others"].split("; ")) == 3, told
    shop.check_equal()
    assert shop.loads() == loads and shop.current(OTHER) == other
    with pytest.raises(DdlReplError) as raised:
        shop.roll_back()
    assert "newest" in str(raised.value)
    shop.work(5)


def test_what_others_have_written_before_stays_and_is_told(shop: Shop) -> None:
    first = shop.work(1)
    shop.sql(THEIRS)
    theirs = shop.current()
    shop.at_source("update t set n = 70 where id = 1")
    shop.replicate()
    newest = shop.current()
    shop.sql("DELETE FROM lake.public.t WHERE id = 2")
    told = shop.roll_back().tables["public.t"]
    assert told["snapshot"] == str(newest) and str(theirs) in told["stays, written by others before"]
    assert f"--from-snapshot {first}`" in shop.refused().hint  # the newest one that nobody else has written before
    assert shop.compare().differences == 1
    shop.roll_back(first)
    shop.check_equal()


def test_what_is_not_certain_to_be_right_is_refused(shop: Shop) -> None:
    loaded, first = shop.current(), shop.work(1)
    assert str(loaded) not in shop.refused().hint
    assert "loaded, or repaired" in str(shop.refused(loaded)) or "does not say" in str(shop.refused(loaded))
    assert "expired" in str(shop.refused(12345))
    shop.sql(THEIRS)
    theirs = shop.current()
    assert "does not lead" in str(shop.refused(theirs))
    second = shop.work_on(2)
    assert "does not say ddlrepl.position" in str(shop.refused(theirs))
    assert "partition" not in str(shop.refused()) and f"--from-snapshot {first}`" in shop.refused().hint
    with flow.open_channel(shop.file, InProcess()) as run, run.locked():
        run.repository.expire_segments("shop", run.token, run.captured())
    assert "the trail has it from" in str(shop.refused(first))
    shop.at_source("alter table t add column more int")
    shop.replicate()
    third = shop.work_on(3)
    assert "its columns have changed" in str(shop.refused(second))
    with flow.open_channel(shop.file, InProcess()) as run:
        flow.repair(run)
    assert "loaded, or repaired" in str(shop.refused(third))
    shop.check_equal()
    shop.refresh("public.t")
    assert "loaded, or repaired" in str(shop.refused(third))
    fourth = shop.work(4)
    shop.at_source("truncate t", "insert into t values (1, 'new', 0)")
    shop.replicate()
    shop.roll_back(fourth)
    shop.check_equal()


class Jdbc:
    """A lake in an SQLite file, as its readers see it."""

    def __init__(self, location: str) -> None:
        self.location = location

    def somebody(self) -> Any:
        return somebody(self.location)

    def pointers(self) -> dict[TableName, str]:
        return pointers(self.location)


def test_what_somebody_has_done_to_columns_and_files(shop: Shop) -> None:
    first, newest = shop.work(1), shop.work(2)
    files = shop.table(T).snapshot_by_id(first).manifest_list.removeprefix("file:")
    aside = Path(files).rename(f"{files}.aside")
    assert "is missing" in str(shop.refused(first))
    aside.rename(files)
    shop.sql("ALTER TABLE lake.public.t DROP COLUMN n", "ALTER TABLE lake.public.t ADD COLUMN theirs INT")
    for wanted in (first, newest):
        assert "columns" in str(shop.refused(wanted))
    shop.sql("ALTER TABLE lake.public.t ADD COLUMN n INT")  # another column of that name
    for wanted in (first, newest):
        assert "columns" in str(shop.refused(wanted))
    shop.sql("DROP TABLE lake.public.t", "CREATE TABLE lake.public.t (id INT, v STRING, n INT) USING iceberg", THEIRS)
    assert "made the table again" in str(shop.refused())
    shop.refresh("public.t")
    shop.work(3)
    shop.sql("DELETE FROM lake.public.t WHERE id = 1", "ALTER TABLE lake.public.t ADD COLUMN theirs INT")
    shop.roll_back()
    shop.sql("ALTER TABLE lake.public.t DROP COLUMN theirs")
    shop.check_equal()


def test_tables_whose_snapshots_are_not_all_of_them_are_refused(
    databases: Databases, tmp_path: Path, lake_spark: None
) -> None:
    own = [
        {
            "tables": ["public.changes"],
            "time_key": True,
            "extra": {"op": "{operation}", "at": "{position}", "n": "{sequence}"},
        },
        {"tables": ["public.few"], "coerce_error_policy": "discard"},
    ]
    lake = Lake(databases.source, tmp_path, target_tables=own)
    for name in ("changes", "few", "waits", "plain"):
        lake.at_source(f"create table {name} (id int primary key, v text)", f"insert into {name} values (1, 'v')")
        lake.at_source(f"alter table {name} replica identity full")
    lake.at_source("create table p (id int primary key) partition by range (id)")
    lake.at_source("create table p1 partition of p for values from (0) to (10)", "insert into p values (1)")
    lake.activate()
    with flow.open_channel(lake.file, InProcess()) as run, run.locked():
        place = run.target("warehouse")
        place.claim(run.fence)
        (waits,) = (one for one in place.state().table_states.values() if one.name.name == "waits")
        place.change_state(StateChange(states={waits.table_id: replace(waits, state=TableStatus.PENDING)}), run.fence)
    before = pointers(lake.location)
    for name, said in (
        ("changes", "history of changes"),
        ("few", "discarded"),
        ("p", "partition"),
        ("p1", "partition"),
        ("waits", "it is pending"),
    ):
        with pytest.raises(DdlReplError, match=said) as raised:
            roll_back(lake, None, f"public.{name}")
        assert raised.value.code == "REF-102" and "from the source" in raised.value.hint
    with pytest.raises(DdlReplError, match="several match"):
        roll_back(lake, 1, "public.*")
    with pytest.raises(DdlReplError, match="CFG-131"):
        roll_back(lake, None, "public.none")
    with pytest.raises(DdlReplError, match="newest one that the channel has left"):
        roll_back(lake, None, "public.plain")
    data = yaml.safe_load(lake.file.read_text())
    data["targets"][0]["history"] = "both"
    lake.file.write_text(yaml.safe_dump(data))
    with pytest.raises(DdlReplError, match="history of changes"):
        roll_back(lake, None, "public.plain")
    assert pointers(lake.location) == before


def test_a_target_without_snapshots_says_so(databases: Databases, tmp_path: Path) -> None:
    replica = activating(databases, tmp_path)("create table t (id int primary key)")
    with pytest.raises(DdlReplError, match="has no snapshots") as raised:
        roll_back(replica)
    assert raised.value.code == "ADP-195"


def test_a_roll_back_that_is_killed_is_made_good(databases: Databases, tmp_path: Path, lake_spark: None) -> None:
    location = f"iceberg://{tmp_path}/catalog.db?warehouse={tmp_path}/warehouse"
    points = {"roll_back.transaction": commit, "roll_back.committed": module}
    tell(databases.source, tmp_path, Jdbc(location), location, points)
