"""HVR's defaults: a target follows where source and target have an AdaptDDL action, otherwise it is left as it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.config.file.warnings import warnings
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow.capture.capture import has_new_log
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.replayable import HORIZON
from tests.support.replica import Replica, channel_file
from tests.support.restricting import at_source

NEW = {"add_table_pattern": "*"}
ENOUGH = {"on_enroll_break": "REFRESH"}
START = ("CREATE TABLE t (id int PRIMARY KEY, a int, b varchar(5), c int)", "INSERT INTO t VALUES (1, 1, 'one', 1)")
T = "public.t"
UNMANAGED = "no AdaptDDL action on both sides"
KEPT = [
    pytest.param("KEEP", "DROP TABLE t", "stays in the channel", id="keep"),
    pytest.param(None, "DROP TABLE t", UNMANAGED, id="dropped without an action"),
    pytest.param(None, "ALTER TABLE t RENAME TO s", UNMANAGED, id="renamed without an action"),
]
TABLE = "SELECT to_jsonb(t) FROM t ORDER BY id"


def sided(databases: Databases, folder: Path, **sides: Mapping[str, Any]) -> Replica:
    """sides: `source`, `target`, `both`: the actions that stand there."""
    at = {name: [dict(action)] for name, action in sides.items()}
    file = channel_file(
        folder,
        databases.source,
        databases.target,
        defaults="hvr",
        adapt_ddl=at.get("both", []),
        source={"adapt_ddl": at.get("source", [])},
        targets=[{"name": "warehouse", "location": databases.target, "adapt_ddl": at.get("target", [])}],
    )
    return Replica(databases.source, databases.target, file)


def begun(replica: Replica) -> Replica:
    replica.at_source(*START)
    replica.activate()
    return replica


def newest(replica: Replica, name: str) -> list[str]:
    """The columns of a table as the repository knows them."""
    with flow.open_channel(replica.file, InProcess()) as run:
        known = run.repository.latest_revisions("shop").values()
        return next([c.name for c in r.table.columns] for r in known if r.table and r.table.name.name == name)


@pytest.mark.req("HVR-O-04", "HVR-O-07", "HVR-D-20", "HVR-D-26")
@pytest.mark.parametrize("column", ["n int", "n int DEFAULT 5", "n int NOT NULL DEFAULT 5"])
def test_an_action_at_the_source_only(databases: Databases, tmp_path: Path, column: str) -> None:
    """The repository has the column, the target has not; the others flow, also after activation and a refresh."""
    replica = begun(sided(databases, tmp_path, source=NEW))
    replica.at_source(f"ALTER TABLE t ADD {column}", "INSERT INTO t VALUES (2, 2, 'two', 2, 2)")
    told = replica.replicate()
    assert "no AdaptDDL action on both sides" in "".join(told.adapt.warnings)
    assert (told.refresh.tables, newest(replica, "t")) == ({}, ["id", "a", "b", "c", "n"])
    expected = [({"id": 1, "a": 1, "b": "one", "c": 1},), ({"id": 2, "a": 2, "b": "two", "c": 2},)]
    assert replica.rows(TABLE) == expected
    replica.at_source("UPDATE t SET c = 7 WHERE id = 2", "DELETE FROM t WHERE id = 1")
    replica.activate()
    replica.replicate()
    assert replica.rows(TABLE) == [({**expected[1][0], "c": 7},)]
    assert replica.refresh("public.t").tables == {"public.t": 1}
    assert replica.rows(TABLE) == [({**expected[1][0], "c": 7},)]


def targets(databases: Databases, *more: str, **settings: Any) -> list[dict[str, Any]]:
    """The first one, and others of these locations, all with the same settings."""
    places = {"warehouse": databases.target, **{f"target{number}": place for number, place in enumerate(more)}}
    return [{"name": name, "location": location, **settings} for name, location in places.items()]


@pytest.mark.req("HVR-O-01", "HVR-O-08")
@pytest.mark.parametrize("side", [{}, {"target": ENOUGH}], ids=["nowhere", "at the target only"])
def test_the_channel_keeps_its_columns(databases: Databases, tmp_path: Path, side: Any) -> None:
    """A target that comes later gets those, too: what the source has besides is not in the channel."""
    replica = begun(sided(databases, tmp_path, **side))
    replica.at_source("ALTER TABLE t ADD n int DEFAULT 7", "INSERT INTO t VALUES (2, 2, 'two', 2, 2)")
    replica.replicate()
    expected = [({"id": 1, "a": 1, "b": "one", "c": 1},), ({"id": 2, "a": 2, "b": "two", "c": 2},)]
    assert replica.rows(TABLE) == expected
    later = databases._create("later")
    places = targets(databases, later, adapt_ddl=[side["target"]] if side else [])
    channel_file(tmp_path, databases.source, databases.target, defaults="hvr", adapt_ddl=[], targets=places)
    replica.activate()
    replica.at_source("INSERT INTO t VALUES (3, 3, 'three', 3, 3)", "UPDATE t SET n = 9")
    replica.replicate()
    expected.append(({"id": 3, "a": 3, "b": "three", "c": 3},))
    assert replica.rows(TABLE) == expected
    assert Replica(databases.source, later, replica.file).rows(TABLE) == expected


@pytest.mark.req("HVR-O-07")
def test_the_channel_adapts_and_a_later_target_has_what_it_holds_by_then(databases: Databases, tmp_path: Path) -> None:
    replica = begun(sided(databases, tmp_path, source=NEW))
    replica.at_source("ALTER TABLE t ADD n int DEFAULT 7")
    replica.replicate()
    later = databases._create("later")
    file = replica.file.parent
    source, places = {"adapt_ddl": [NEW]}, targets(databases, later)
    channel_file(file, databases.source, databases.target, defaults="hvr", adapt_ddl=[], source=source, targets=places)
    replica.activate()
    replica.replicate()
    row = {"id": 1, "a": 1, "b": "one", "c": 1}
    assert replica.rows(TABLE) == [(row,)]
    assert Replica(databases.source, later, replica.file).rows(TABLE) == [({**row, "n": 7},)]


@pytest.mark.parametrize("side", [{}, {"target": ENOUGH}], ids=["nowhere", "at the target only"])
def test_without_an_action_at_the_source(databases: Databases, tmp_path: Path, side: Any) -> None:
    replica = begun(sided(databases, tmp_path, **side))
    replica.at_source("ALTER TABLE t ADD n int", "INSERT INTO t VALUES (2, 2, 'two', 2, 2)", "CREATE TABLE u (id int)")
    replica.replicate()
    assert replica.rows("SELECT to_jsonb(t) FROM t WHERE id = 2") == [({"id": 2, "a": 2, "b": "two", "c": 2},)]
    assert replica.rows("SELECT to_regclass('u')::text") == [(None,)]


@pytest.mark.req("HVR-O-06")
@pytest.mark.parametrize("sides", [{"both": NEW}, {"source": NEW, "target": ENOUGH}], ids=["both", "each"])
def test_an_action_on_both_sides(databases: Databases, tmp_path: Path, sides: Any) -> None:
    replica = begun(sided(databases, tmp_path, **sides))
    replica.at_source("ALTER TABLE t ADD n int", "INSERT INTO t VALUES (2, 2, 'two', 2, 2)")
    assert replica.settle().adapt.changes == {"add_column": 1}
    assert replica.rows("SELECT n FROM t ORDER BY id") == [(None,), (2,)]


@pytest.mark.req("HVR-O-02", "HVR-O-13", "HVR-D-10", "HVR-D-14", "HVR-D-21")
def test_each_statement_of_a_table_of_its_own_reaches_repository_and_target(
    databases: Databases, tmp_path: Path
) -> None:
    """CREATE TABLE, ADD COLUMN, DROP COLUMN, DROP TABLE, each handled before the next one comes."""
    replica = begun(sided(databases, tmp_path, both={**NEW, "on_drop_table": "DROP_FROM_CHANNEL_AND_TARGET"}))
    replica.at_source("CREATE TABLE u (id int PRIMARY KEY, v text)", "INSERT INTO u VALUES (1, 'one')")
    assert replica.settle().adapt.changes == {"create_table": 1}
    assert newest(replica, "u") == ["id", "v"]
    replica.at_source("ALTER TABLE u ADD n int", "INSERT INTO u VALUES (2, 'two', 2)")
    assert replica.settle().adapt.changes == {"add_column": 1}
    assert newest(replica, "u") == ["id", "v", "n"]
    replica.at_source("ALTER TABLE u DROP v", "INSERT INTO u VALUES (3, 3)")
    assert replica.settle().adapt.changes == {"drop_column": 1}
    assert newest(replica, "u") == ["id", "n"]
    assert replica.rows("SELECT * FROM u ORDER BY id") == [(1, None), (2, 2), (3, 3)]
    replica.at_source("DROP TABLE u")
    assert replica.settle().adapt.changes == {"drop_table": 1}
    assert replica.rows("SELECT to_regclass('u')::text") == [(None,)]


@pytest.mark.req("HVR-P-16")
def test_a_pattern_of_tables_to_ignore_does_nothing_at_a_target(databases: Databases, tmp_path: Path) -> None:
    replica = begun(sided(databases, tmp_path, source=NEW, target={**ENOUGH, "ignore_table_pattern": "tmp_*"}))
    replica.at_source("CREATE TABLE tmp_a (id int PRIMARY KEY)", "INSERT INTO tmp_a VALUES (1)")
    replica.settle()
    assert replica.rows("SELECT id FROM tmp_a") == [(1,)]
    assert any("ignore_table_pattern does nothing at a target" in told for told in warnings(load_channel(replica.file)))


PARTITIONED = (
    "CREATE TABLE p (id int, day date, PRIMARY KEY (id, day)) PARTITION BY RANGE (day)",
    "CREATE TABLE p1 PARTITION OF p FOR VALUES FROM ('2026-01-01') TO ('2026-02-01')",
    "CREATE TABLE p2 PARTITION OF p FOR VALUES FROM ('2026-02-01') TO ('2026-03-01')",
    "CREATE TABLE spare (LIKE p INCLUDING ALL)",
    "INSERT INTO p VALUES (1, '2026-01-05'), (2, '2026-02-05')",
    "INSERT INTO spare VALUES (3, '2026-01-07')",
)


def test_without_an_action_a_partition_is_emptied_all_the_same(databases: Databases, tmp_path: Path) -> None:
    """PostgreSQL's log has a TRUNCATE of a partition among the rows; HVR-D-77 is about databases whose log has not."""
    replica = sided(databases, tmp_path)
    replica.at_source(*PARTITIONED)
    replica.activate()
    replica.at_source("TRUNCATE p1")
    replica.settle()
    assert replica.rows("SELECT id FROM p") == [(2,)]


@pytest.mark.req("HVR-D-84")
def test_without_an_action_an_exchange_of_partitions_is_ignored(databases: Databases, tmp_path: Path) -> None:
    replica = sided(databases, tmp_path)
    replica.at_source(*PARTITIONED)
    replica.activate()
    replica.at_source(
        "ALTER TABLE p DETACH PARTITION p1",
        "ALTER TABLE p ATTACH PARTITION spare FOR VALUES FROM ('2026-01-01') TO ('2026-02-01')",
        "INSERT INTO p VALUES (4, '2026-01-08'), (5, '2026-02-08')",
    )
    replica.replicate()
    assert at_source(replica, "SELECT id FROM p ORDER BY 1") == [(2,), (3,), (4,), (5,)]
    assert replica.rows("SELECT id FROM p ORDER BY 1") == [(1,), (2,), (5,)]
    assert replica.rows("SELECT id FROM spare ORDER BY 1") == [(3,), (4,)]


@pytest.mark.req("HVR-O-09")
def test_one_target_follows_and_the_other_does_not(databases: Databases, tmp_path: Path) -> None:
    second = databases._create("second")
    targets = [
        {"name": "follows", "location": databases.target, "adapt_ddl": [ENOUGH]},
        {"name": "stays", "location": second},
    ]
    source = {"adapt_ddl": [NEW]}
    file = channel_file(
        tmp_path, databases.source, databases.target, defaults="hvr", adapt_ddl=[], source=source, targets=targets
    )
    replica = begun(Replica(databases.source, databases.target, file))
    replica.at_source("ALTER TABLE t ADD n int", "ALTER TABLE t DROP c", "INSERT INTO t VALUES (2, 2, 'two', 2)")
    replica.replicate()
    row = {"id": 2, "a": 2, "b": "two"}
    assert replica.rows(TABLE)[1] == ({**row, "n": 2},)
    assert Replica(databases.source, second, file).rows(TABLE)[1] == ({**row, "c": None},)


@pytest.mark.req("HVR-D-17", "HVR-D-31", "HVR-D-42")
def test_what_the_target_keeps(databases: Databases, tmp_path: Path) -> None:
    """A column that the source drops, the wider type, the name; a table that comes back goes on in the old one."""
    replica = begun(sided(databases, tmp_path, source=NEW))
    replica.at_source(
        "ALTER TABLE t DROP c",
        "ALTER TABLE t ALTER b TYPE varchar(3)",
        "INSERT INTO t VALUES (2, 2, 'two')",
        "ALTER TABLE t RENAME TO renamed",
        "UPDATE renamed SET a = 3 WHERE id = 1",
    )
    replica.replicate()
    assert replica.rows(TABLE) == [
        ({"id": 1, "a": 3, "b": "one", "c": 1},),
        ({"id": 2, "a": 2, "b": "two", "c": None},),
    ]
    replica.at_source(
        "ALTER TABLE renamed RENAME TO t",
        "DROP TABLE t",
        "CREATE TABLE t (id int PRIMARY KEY, b text, z int)",
        "INSERT INTO t VALUES (3, 'new', 3)",
    )
    told = replica.replicate().adapt.warnings
    kinds = [f"rename_table public.renamed -> {T}", f"drop_table {T}", f"create_table {T}"]
    assert [line.removeprefix(f"{T}: ").partition(": ")[0] for line in told] == kinds
    assert replica.rows("SELECT to_jsonb(t) FROM t WHERE id = 3") == [({"id": 3, "a": None, "b": "new", "c": None},)]
    assert len(replica.rows(TABLE)) == 3


@pytest.mark.req("HVR-D-46")
@pytest.mark.parametrize(
    ("change", "row"),
    [
        ("ALTER TABLE t ALTER b TYPE varchar(12)", "(2, 2, 'ten letters', 2)"),
        ("ALTER TABLE t ALTER a TYPE varchar(5)", "(2, 'abc', 'two', 2)"),
    ],
)
def test_a_value_that_does_not_fit_is_an_error(databases: Databases, tmp_path: Path, change: str, row: str) -> None:
    """Nothing of it is applied; when the target may follow, the table is loaded."""
    replica = begun(sided(databases, tmp_path, source=NEW))
    replica.at_source(change, f"INSERT INTO t VALUES {row}")
    with pytest.raises(DdlReplError, match=r"public\.t|t\b") as refused:
        replica.replicate()
    assert refused.value.hint
    assert len(replica.rows(TABLE)) == 1


def test_a_target_that_may_follow_again(databases: Databases, tmp_path: Path) -> None:
    """Columns that it lacks, and tables that it never had, come with all their values."""
    replica = begun(sided(databases, tmp_path, source=NEW))
    replica.at_source(
        "ALTER TABLE t ADD n int DEFAULT 5",
        "CREATE TABLE u (id int PRIMARY KEY)",
        "INSERT INTO u VALUES (1), (2)",
        "UPDATE t SET n = 6",
    )
    replica.replicate()
    sided(databases, tmp_path, both=NEW)
    replica.replicate()
    replica.at_source("ALTER TABLE t ADD m int", "ALTER TABLE u ADD m int")
    told = replica.replicate()
    assert told.refresh.tables == {"public.t": 1, "public.u": 2}
    replica.check_equal()
    assert replica.rows("SELECT n FROM t") == [(6,)]


def test_a_target_that_does_not_follow_gets_no_column_by_going_back(
    databases: Databases, past: str, tmp_path: Path
) -> None:
    replica = begun(sided(databases, tmp_path, source=NEW))
    replica.at_source("ALTER TABLE t ADD n int", "INSERT INTO t VALUES (2, 2, 'two', 2, 2)")
    replica.replicate()
    text = replica.file.read_text()
    replica.file.write_text(f"{text}rewind_horizon: {HORIZON}\nreplays: [{{name: past, location: {past}}}]\n")
    replica.refresh("public.t")
    now = str(replica.replicate().capture.high)
    before = replica.rows(TABLE)
    with pytest.raises(DdlReplError, match=r"REW-108: public\.t .*other columns.*(?s:.*)nothing was changed"):
        replica.rewind(now, "warehouse")
    assert replica.rows(TABLE) == before


@pytest.mark.req("HVR-P-88", "HVR-D-09", "HVR-D-71")
@pytest.mark.parametrize(("policy", "statement", "told"), KEPT)
def test_a_table_that_stays_in_the_channel_is_not_found(
    databases: Databases, tmp_path: Path, policy: str | None, statement: str, told: str
) -> None:
    """The cycle warns, the target keeps the rows, and an activation that inspects again names the table."""
    action = {"source": {**NEW, "on_drop_table": policy}, "target": ENOUGH} if policy else {}
    replica = begun(sided(databases, tmp_path, **action))
    replica.at_source("CREATE TABLE other (id int PRIMARY KEY)")
    replica.activate()
    replica.at_source("INSERT INTO t VALUES (2, 2, 'two', 2)", statement)
    assert told in "".join(replica.replicate().adapt.warnings)
    assert [row["id"] for (row,) in replica.rows(TABLE)] == [1, 2]
    for enrollment in ("regenerate", "only"):
        with pytest.raises(DdlReplError, match=r"table not found: public\.t\n") as error:
            replica.activate(enrollment)
        assert error.value.code == "SRC-181"
    replica.file.write_text(replica.file.read_text().replace("  tables:", "  exclude: [public.t]\n  tables:", 1))
    replica.activate("only")


@pytest.mark.req("HVR-P-91")
@pytest.mark.parametrize("policy", ["DROP_FROM_CHANNEL_ONLY", "DROP_FROM_CHANNEL_AND_TARGET"])
def test_the_last_table_is_not_removed(databases: Databases, tmp_path: Path, policy: str) -> None:
    """Capture fails in every cycle, what it captured stays; once there is another table, the drop is handled."""
    replica = begun(sided(databases, tmp_path, source={**NEW, "on_drop_table": policy}, target=ENOUGH))
    replica.at_source("DROP TABLE t")
    for _ in range(2):
        with pytest.raises(DdlReplError, match=r"last table was dropped at the source: public\.t") as error:
            replica.replicate()
        assert error.value.code == "SRC-182"
        assert len(replica.rows(TABLE)) == 1
    with flow.open_channel(replica.file, InProcess()) as run:
        assert has_new_log(run)
    replica.at_source("CREATE TABLE u (id int PRIMARY KEY)", "INSERT INTO u VALUES (1)")
    replica.replicate()
    assert replica.rows("SELECT id FROM u") == [(1,)]
    assert replica.rows("SELECT to_regclass('t') IS NULL") == [(policy == "DROP_FROM_CHANNEL_AND_TARGET",)]


@pytest.mark.req("HVR-D-01")
def test_without_an_action_a_new_table_waits_for_a_person(databases: Databases, tmp_path: Path) -> None:
    """It is ignored, with its rows, until somebody activates again: it is loaded then, and its changes flow."""
    replica = begun(sided(databases, tmp_path))
    replica.at_source("CREATE TABLE u (id int PRIMARY KEY)", "INSERT INTO u VALUES (1)")
    told = replica.replicate()
    assert (told.adapt.changes, told.refresh.tables) == ({}, {})
    assert replica.rows("SELECT to_regclass('u')::text") == [(None,)]
    replica.activate()
    replica.at_source("INSERT INTO u VALUES (2)")
    replica.settle()
    assert replica.rows("SELECT id FROM u ORDER BY 1") == [(1,), (2,)]


@pytest.mark.req("HVR-D-87")
def test_a_move_into_another_tablespace_is_ignored(databases: Databases, tmp_path: Path) -> None:
    replica = begun(sided(databases, tmp_path, both=NEW))
    replica.at_source("SET allow_in_place_tablespaces = on", "CREATE TABLESPACE elsewhere LOCATION ''")
    try:
        replica.at_source("ALTER TABLE t SET TABLESPACE elsewhere", "INSERT INTO t VALUES (2, 2, 'two', 2)")
        told = replica.settle()
        assert (told.adapt.changes, told.adapt.statements, told.refresh.tables) == ({}, 0, {})
        moved = "SELECT spcname::text FROM pg_class c JOIN pg_tablespace s ON s.oid = reltablespace WHERE relname = 't'"
        assert (at_source(replica, moved), replica.rows(moved)) == ([("elsewhere",)], [])
    finally:
        replica.at_source("DROP TABLE t", "DROP TABLESPACE elsewhere")


@pytest.mark.req("HVR-D-18")
def test_a_table_made_again_before_the_drop_is_captured_is_refreshed_once(databases: Databases, tmp_path: Path) -> None:
    """Its rows are not in the log; how often it was dropped and made again meanwhile does not matter."""
    replica = begun(sided(databases, tmp_path, both=NEW))
    replica.at_source("CREATE TABLE u AS SELECT 1 AS id")
    replica.settle()
    for number in (2, 3):
        replica.at_source("DROP TABLE u", f"CREATE TABLE u AS SELECT {number} AS id, {number} AS more{number}")
    assert replica.settle().refresh.tables == {"public.u": 1}
    replica.at_source("INSERT INTO u VALUES (4, 4)")
    assert replica.settle().refresh.tables == {}
    assert replica.rows("SELECT id, more3 FROM u ORDER BY 1") == [(3, 3), (4, 4)]
