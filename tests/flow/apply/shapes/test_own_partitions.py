"""Partitions that people have made at a target: of the channel's tables, beside them, and tables above them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import CannotAdapt, DdlReplError
from airflow_ddlrepl.ports.work import InProcess
from tests.support.refusing import reason
from tests.support.replica import BOTH, Replica, channel_file

PARTITIONED = (
    "create table p (id int primary key, v text) partition by range (id)",
    "create table p1 partition of p for values from (0) to (10)",
    "insert into p values (1, 'a')",
)


@pytest.fixture
def replica(databases: Any, tmp_path: Path) -> Replica:
    made = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    made.at_source("create table other (id int primary key)")
    return made


def told(replica: Replica) -> list[str]:
    """What the comparison says of shapes and rows."""
    return [line for one in replica.compare().tables for line in one.structure]


@BOTH
def test_rows_of_a_partition_that_only_the_target_has_are_told(replica: Replica) -> None:
    replica.at_source(*PARTITIONED)
    replica.activate()
    replica.at_target("create table px partition of p for values from (10) to (20)")
    replica.at_source("insert into p values (2, 'b')")
    replica.settle()
    replica.at_target("insert into p values (15, 'mine')")
    (line,) = told(replica)
    assert "public.px is a partition of the target's own" in line
    replica.at_source("alter table p add c int default 3", "truncate p", "insert into p values (3, 'c')")
    replica.replicate()
    assert replica.rows("select id, c from px") == [(15, 3)], "the target's own rows stay"
    assert replica.rows("select id from p1") == [(3,)]
    replica.refresh("public.p")
    assert replica.rows("select id from px") == [(15,)]
    replica.at_target("alter table p detach partition px")
    replica.settle()


@BOTH
def test_a_partition_that_is_in_the_way_of_the_sources_stops_it_alone(replica: Replica) -> None:
    replica.at_source(*PARTITIONED)
    replica.activate()
    replica.at_target("create table px partition of p default", "insert into p values (15, 'mine')")
    replica.at_source(
        "create table p2 partition of p for values from (10) to (20)",
        "insert into p values (12, 'c'), (2, 'b')",
        "insert into other values (1)",
    )
    with pytest.raises(CannotAdapt, match="ADP-131") as caught:
        replica.replicate()
    assert caught.value.table == "public.p2" and '"px"' in caught.value.message
    assert replica.rows("select (select count(*) from p1), (select count(*) from other)") == [(2, 1)]
    assert replica.rows("select id from px") == [(15,)]
    replica.at_target("delete from px")
    replica.settle()
    assert replica.rows("select tableoid::regclass::text from p where id = 12") == [("p2",)]


@BOTH
@pytest.mark.parametrize("options", ["", "-gr"])
def test_a_table_that_people_have_partitioned_stays_so(replica: Replica, options: str) -> None:
    replica.at_source("create table t (id int primary key, v text)", "insert into t values (1, 'a'), (11, 'b')")
    replica.activate()
    replica.at_target(
        "alter table t rename to t_old",
        "create table t (id int primary key, v text, note text) partition by range (id)",
        "create table ta partition of t for values from (0) to (10)",
        "create table tb partition of t for values from (10) to (20)",
        "insert into t select *, 'mine' from t_old; drop table t_old",
    )
    replica.at_source("insert into t values (2, 'b'), (12, 'c')", "update t set v = 'z' where id = 11")
    replica.at_source("alter table t add c int default 3")
    replica.replicate()
    assert replica.rows("select count(*) from ta") == [(2,)]
    assert [line for line in told(replica) if "missing" in line] == [], "no row is missing"
    assert [one.missing + one.extra + one.different for one in replica.compare().tables] == [0, 0]
    replica.at_target("delete from ta")
    replica.refresh("public.t", options=options)
    found = "select tableoid::regclass::text, id, v, c, note from t order by id"
    assert replica.rows(found) == [
        ("ta", 1, "a", 3, None),
        ("ta", 2, "b", 3, None),
        ("tb", 11, "z", 3, "mine"),
        ("tb", 12, "c", 3, None),
    ]
    replica.at_source("truncate t", "insert into t values (3, 't', 1)")
    replica.replicate()
    assert replica.rows("select tableoid::regclass::text, id from t") == [("ta", 3)]


@BOTH
def test_a_partition_that_people_have_partitioned_further_stays_so(replica: Replica) -> None:
    replica.at_source(*PARTITIONED)
    replica.activate()
    replica.at_target(
        "alter table p detach partition p1; alter table p1 rename to p1_old",
        "create table p1 partition of p for values from (0) to (10) partition by range (id)",
        "create table p1a partition of p1 for values from (0) to (5)",
        "create table p1b partition of p1 for values from (5) to (10)",
        "insert into p select * from p1_old; drop table p1_old",
    )
    replica.at_source("insert into p values (2, 'b'), (6, 'c')", "alter table p add c int default 3")
    replica.replicate()
    replica.refresh("public.p")
    assert replica.rows("select tableoid::regclass::text, id from p order by id") == [
        ("p1a", 1),
        ("p1a", 2),
        ("p1b", 6),
    ]
    assert not [line for line in told(replica) if "own" in line], "its partitions have the channel's rows"
    replica.at_source("truncate p1", "insert into p values (3, 't', 1)")
    replica.replicate()
    assert replica.rows("select tableoid::regclass::text, id from p") == [("p1a", 3)]


@BOTH
def test_a_table_that_inherits_from_ours_keeps_its_rows(replica: Replica) -> None:
    replica.at_source("create table t (id int primary key, v text)", "insert into t values (1, 'a')")
    replica.activate()
    replica.at_target("create table kid () inherits (t)", "insert into kid values (77, 'mine')")
    replica.at_source("truncate t", "insert into t values (2, 'b')")
    replica.settle()
    replica.refresh("public.t")
    replica.settle()
    assert replica.rows("select tableoid::regclass::text, id from t order by id") == [("t", 2), ("kid", 77)]
    replica.at_target("create table refers (id int references t)")
    replica.at_source("truncate t")
    replica.settle()
    assert replica.rows("select id from t") == [(77,)]


@BOTH
def test_a_table_that_people_have_attached_to_theirs_stays_attached(replica: Replica) -> None:
    """A new column, which a partition can't get by itself, is refused by name; it is not detached without a word."""
    replica.at_source("create table t (id int primary key, v text)", "insert into t values (1, 'a')")
    replica.activate()
    replica.at_target(
        "create table everything (id int not null, v text) partition by range (id)",
        "alter table everything attach partition t for values from (0) to (10)",
    )
    replica.at_source("insert into t values (2, 'b')")
    replica.settle()
    replica.refresh("public.t")
    replica.settle()
    assert replica.rows("select id from everything order by id") == [(1,), (2,)]
    replica.at_source("alter table t add c int", "insert into other values (1)")
    with pytest.raises(DdlReplError) as caught:
        replica.replicate()
    assert reason(caught.value) == "ADP-130" and replica.rows("select count(*) from other") == [(1,)]
    with pytest.raises(CannotAdapt, match="ADP-131") as refused:
        replica.refresh("public.t")
    assert "partitions or children" in refused.value.hint
    assert replica.rows("select id from everything order by id") == [(1,), (2,)]
    replica.at_target("alter table everything detach partition t")
    replica.settle()


def test_a_repair_says_that_the_targets_own_partition_is_left(replica: Replica) -> None:
    replica.at_source(*PARTITIONED)
    replica.activate()
    replica.at_target("create table px partition of p default", "insert into p values (15, 'mine')")
    with flow.open_channel(replica.file, InProcess()) as cycle:
        found = flow.repair(cycle, ())
    assert found.differences == 1 and found.unrepaired == ("public.p",), found.text()
    assert replica.rows("select id from p order by id") == [(1,), (15,)]


@BOTH
def test_a_table_is_not_dropped_with_a_partition_of_the_targets_own(databases: Any, tmp_path: Path) -> None:
    policy = [{"add_table_pattern": "*", "on_drop_table": "DROP_FROM_CHANNEL_AND_TARGET"}]
    file = channel_file(tmp_path, databases.source, databases.target, adapt_ddl=policy)
    replica = Replica(databases.source, databases.target, file)
    twin = (one.replace(" p ", " q ").replace(" p1 ", " q1 ") for one in PARTITIONED)
    replica.at_source("create table other (id int primary key)", *PARTITIONED, *twin)
    replica.activate()
    replica.at_target(
        "create table px partition of p for values from (10) to (20)",
        "create table qx partition of q for values from (10) to (20)",
        "insert into p values (15, 'mine')",
    )
    replica.at_source("drop table p", "drop table q", "insert into other values (1)")
    told = replica.settle().text()
    assert "would drop public.px" in told and "qx" not in told
    assert replica.rows("select tableoid::regclass::text, id from p") == [("px", 15)]
    assert replica.rows("select count(*) from pg_class where relname in ('p1', 'q', 'q1', 'qx')") == [(0,)]
    assert replica.rows("select count(*) from other") == [(1,)]
    replica.replicate()
