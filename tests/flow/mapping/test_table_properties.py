"""table_properties, and column_properties of partitions: other names at the target, and who may not have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_ddlrepl.errors import CannotAdapt, DdlReplError
from tests.support.replica import Replica, channel_file

SALES = {"tables": ["public.orders", "ordered"], "name": "sales"}


def replica_of(databases: Any, folder: Path, **sections: Any) -> Replica:
    """Not activated yet."""
    return Replica(
        databases.source, databases.target, channel_file(folder, databases.source, databases.target, **sections)
    )


def now(replica: Replica, **sections: Any) -> None:
    """The channel file says this from here on."""
    replica.file.write_text(yaml.safe_dump({**yaml.safe_load(replica.file.read_text()), **sections}))


def names(replica: Replica) -> list[str]:
    query = (
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') ORDER BY 1"
    )
    return [name for (name,) in replica.rows(query)]


def test_a_table_that_comes_later_has_the_name_of_the_property(databases: Any, tmp_path: Path) -> None:
    replica = replica_of(databases, tmp_path, table_properties=[SALES])
    replica.at_source("CREATE TABLE t (id int PRIMARY KEY)")
    replica.activate()
    replica.at_source("CREATE TABLE orders (id int PRIMARY KEY, n int)", "INSERT INTO orders VALUES (1, 1)")
    replica.settle()
    assert names(replica) == ["sales", "t"]
    replica.at_source("ALTER TABLE orders ADD m int DEFAULT 3", "UPDATE orders SET n = 2", "TRUNCATE t")
    assert replica.settle().refresh.tables == {}
    assert replica.rows("SELECT id, n, m FROM sales") == [(1, 2, 3)]
    for source, there in (("ordered", "sales"), ("other", "other"), ("orders", "sales")):
        before = "orders" if source == "ordered" else "ordered" if source == "other" else "other"
        replica.at_source(f"ALTER TABLE {before} RENAME TO {source}", f"UPDATE {source} SET n = n + 1")
        assert replica.settle().refresh.tables == {}
        assert names(replica) == sorted([there, "t"])
    replica.refresh("public.orders", options="-gr")
    replica.refresh("public.orders")
    replica.check_equal()
    replica.at_source("DROP TABLE orders", "CREATE TABLE orders (id int PRIMARY KEY, x text)")
    replica.settle()
    replica.at_source("INSERT INTO orders VALUES (7, 'x')")
    replica.settle()
    assert replica.rows("SELECT id, x FROM sales") == [(7, "x")]


def test_the_file_gives_other_names_between_two_runs(databases: Any, tmp_path: Path) -> None:
    """The tables are renamed; what hangs on them stays."""
    replica = replica_of(databases, tmp_path)
    replica.at_source("CREATE TABLE orders (id int PRIMARY KEY)", "INSERT INTO orders VALUES (1)")
    replica.activate()
    replica.at_target("CREATE VIEW v AS SELECT id FROM orders")
    now(replica, table_properties=[SALES, "Table=t*, BaseName=tables, Targets=warehouse"])
    told = replica.settle()
    assert (told.adapt.changes, told.refresh.tables, names(replica)) == ({"rename_table": 1}, {}, ["sales"])
    replica.at_source("INSERT INTO orders VALUES (2)", "CREATE TABLE t (id int)")
    replica.settle()
    assert (names(replica), replica.rows("SELECT id FROM v ORDER BY 1")) == (["sales", "tables"], [(1,), (2,)])
    now(replica, table_properties=[])
    replica.settle()
    assert names(replica) == ["orders", "t"]


def test_a_name_given_before_the_first_load(databases: Any, tmp_path: Path) -> None:
    """A table of people's own under the former name is left alone."""
    replica = replica_of(databases, tmp_path)
    replica.at_source("CREATE TABLE orders (id int PRIMARY KEY)", "INSERT INTO orders VALUES (1)")
    replica.at_target("CREATE TABLE orders (mine int)", "INSERT INTO orders VALUES (5)")
    with pytest.raises(CannotAdapt, match="ADP-120"):
        replica.activate()
    now(replica, table_properties=[SALES])
    replica.settle()
    assert replica.rows("SELECT mine, id FROM orders, sales") == [(5, 1)]


def test_two_tables_of_one_name_are_refused(databases: Any, tmp_path: Path) -> None:
    """At activation, and right before a new table that would take another one's place."""
    replica = replica_of(databases, tmp_path, table_properties=[{"name": "one"}])
    replica.at_source("CREATE TABLE a (id int PRIMARY KEY)", "INSERT INTO a VALUES (1)")
    replica.activate()
    replica.at_source("INSERT INTO a VALUES (2)", "CREATE TABLE b (id int PRIMARY KEY)", "INSERT INTO b VALUES (3)")
    with pytest.raises(DdlReplError, match=r"ADP-146: public.a and public.b would both be public.one"):
        replica.replicate()
    assert replica.rows("SELECT id FROM one ORDER BY 1") == [(1,), (2,)]
    with pytest.raises(DdlReplError, match="ADP-146"):
        replica.activate()
    now(replica, table_properties=[{"tables": "b", "name": "two"}, {"name": "one"}])
    replica.settle()
    assert names(replica) == ["one", "two"]
    replica.at_source("ALTER TABLE b RENAME TO c")
    with pytest.raises(DdlReplError, match="ADP-104"):
        replica.replicate()
    assert names(replica) == ["one", "two"]


PARTED = (
    "CREATE TABLE p (id int, day date, v int NOT NULL, PRIMARY KEY (id, day)) PARTITION BY RANGE (day)",
    "CREATE TABLE p_1 PARTITION OF p FOR VALUES FROM ('2024-01-01') TO ('2025-01-01')",
    "INSERT INTO p VALUES (1, '2024-02-02', 10)",
)
DAY = {"columns": "day", "name": "date of order"}


def test_partitions_have_the_properties_of_their_table(databases: Any, tmp_path: Path) -> None:
    """By name, also in the partition key; a new one, one that is attached, and a change of the file between runs."""
    absent = {"columns": "v", "absent": True}
    replica = replica_of(databases, tmp_path, column_properties=[{"columns": "day", "name": "moved"}])
    replica.at_source(*PARTED)
    replica.activate()
    replica.check_equal()
    replica.refresh("public.p", "public.p_1")
    replica.check_equal()
    now(replica, column_properties=[DAY, {"columns": "v", "name": "w"}])
    replica.at_source(
        "CREATE TABLE p_2 PARTITION OF p FOR VALUES FROM ('2025-01-01') TO ('2026-01-01')",
        "INSERT INTO p VALUES (2, '2025-02-02', 20)",
        "CREATE TABLE p_3 (id int, day date, v int NOT NULL, PRIMARY KEY (id, day))",
        "INSERT INTO p_3 VALUES (3, '2026-02-02', 30)",
        "ALTER TABLE p ATTACH PARTITION p_3 FOR VALUES FROM ('2026-01-01') TO ('2027-01-01')",
        "ALTER TABLE p ADD n int DEFAULT 1",
    )
    replica.settle()
    found = 'SELECT to_jsonb(p) FROM p ORDER BY "date of order"'
    assert [set(row) for (row,) in replica.rows(found)] == [{"id", "date of order", "w", "n"}] * 3
    replica.at_source("ALTER TABLE p RENAME v TO u", "UPDATE p SET u = u + 1")
    replica.settle()
    now(replica, column_properties=[DAY, {"columns": "u", "absent": True}])
    replica.at_source("UPDATE p SET u = u + 1", "INSERT INTO p VALUES (4, '2024-03-03', 40)")
    replica.settle()
    assert [set(row) for (row,) in replica.rows(found)] == [{"id", "date of order", "n"}] * 4
    now(replica, column_properties=[DAY, absent])
    told = replica.settle()
    assert set(told.refresh.tables) == {"public.p", "public.p_1", "public.p_2", "public.p_3"}
    assert replica.rows("SELECT sum(u) FROM p") == [(12 + 22 + 32 + 40,)]


def test_a_partition_that_would_be_unlike_its_table_is_refused(databases: Any, tmp_path: Path) -> None:
    replica = replica_of(databases, tmp_path, column_properties=[{**DAY, "tables": "p"}])
    replica.at_source(*PARTED)
    with pytest.raises(DdlReplError, match="ADP-145"):
        replica.activate()
    now(replica, column_properties=[{**DAY, "tables": "p|p_*"}])
    replica.activate()
    replica.check_equal()
    replica.at_source("INSERT INTO p VALUES (5, '2024-05-05', 5)", "ALTER TABLE p RENAME TO q")
    for _ in range(2):
        with pytest.raises(DdlReplError, match="ADP-145"):
            replica.replicate()
    assert replica.rows("SELECT count(*) FROM p") == [(2,)]
    now(replica, column_properties=[{**DAY, "tables": ["p|p_*", "q"]}])
    replica.settle()
    assert names(replica) == ["p_1", "q"]


def test_a_target_whose_rules_leave_a_table_out_minds_no_properties_of_it(databases: Any, tmp_path: Path) -> None:
    """What would be impossible is nothing to it; of a table whose schema changes it discards the names stay."""
    rules = {"negative": [{"tables": ["public.out"]}, {"tables": ["public.t"], "dml": False}]}
    replica = replica_of(
        databases,
        tmp_path,
        targets=[{"name": "warehouse", "location": databases.target, "rules": rules}],
        column_properties=[{"tables": "out", "columns": "id", "absent": True}, {"columns": "v", "name": "w"}],
    )
    replica.at_source(
        *(f"CREATE TABLE {name} (id int PRIMARY KEY, v int)" for name in ("t", "out", "mine")),
        "INSERT INTO t VALUES (1, 1)",
    )
    replica.activate()
    now(replica, column_properties=[{"tables": "out", "columns": "id", "absent": True}, {"columns": "v", "name": "x"}])
    replica.at_source("ALTER TABLE out ADD n int", "ALTER TABLE t ADD n int", "INSERT INTO t VALUES (2, 2, 2)")
    told = replica.replicate()
    assert [w for w in told.adapt.warnings if w.startswith("public.t: the channel file has other settings")]
    assert names(replica) == ["mine", "t"]
    assert replica.rows("SELECT to_jsonb(t) FROM t ORDER BY id") == [({"id": i, "w": i},) for i in (1, 2)]
    replica.at_source("INSERT INTO mine VALUES (1, 1)")
    replica.replicate()
    assert replica.rows("SELECT to_jsonb(mine) FROM mine") == [({"id": 1, "x": 1},)]
