"""With HVR's defaults a table that gets another name is dropped under the old one and created under the new one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Replica, channel_file

Begin = Callable[..., Replica]
AWAY = "ALTER TABLE t1 RENAME TO t2"


@pytest.fixture
def begin(databases: Any, tmp_path: Path) -> Begin:
    """An active channel with HVR's defaults, whose new tables join when their names begin with t."""

    def make(*statements: str, **sections: Any) -> Replica:
        actions = [{"add_table_pattern": "t*", **sections.pop("actions", {})}]
        tables = {"tables": ["public.t*", "public.u"]}
        file = channel_file(
            tmp_path, databases.source, databases.target, source=tables, adapt_ddl=actions, defaults="hvr", **sections
        )
        replica = Replica(databases.source, databases.target, file)
        replica.at_source(
            "CREATE TABLE t1 (id int PRIMARY KEY, v text)",
            "INSERT INTO t1 VALUES (1, 'a'), (2, 'b')",
            "CREATE TABLE u (id int PRIMARY KEY)",
            *statements,
        )
        replica.activate()
        return replica

    return make


def names(replica: Replica) -> set[str]:
    """The target's tables."""
    return {name for (name,) in replica.rows("SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'")}


@pytest.mark.req("HVR-D-72", "HVR-D-73", "HVR-D-74", "HVR-D-75")
@pytest.mark.parametrize("policy", ["KEEP", "DROP_FROM_CHANNEL_ONLY", "DROP_FROM_CHANNEL_AND_TARGET"])
def test_the_old_name_leaves_and_the_new_one_is_created_and_loaded(begin: Begin, policy: str) -> None:
    replica = begin(actions={"on_drop_table": policy})
    replica.at_source("INSERT INTO t1 VALUES (3, 'c')", AWAY, "INSERT INTO t2 VALUES (4, 'd')")
    replica.capture()
    ((plan,),) = replica.plan().targets.values()
    assert [change.split()[0] for change in plan.changes] == ["drop_table", "create_table"]
    told = replica.settle()
    assert told.refresh.tables == {"public.t2": 4}
    assert bool([w for w in told.adapt.warnings if "public.t1 was dropped" in w]) is (policy == "KEEP")
    stays = policy != "DROP_FROM_CHANNEL_AND_TARGET"
    assert names(replica) == ({"t1", "t2", "u"} if stays else {"t2", "u"})
    if stays:
        assert replica.rows("SELECT id FROM t1 ORDER BY 1") == [(1,), (2,), (3,)]
    if policy == "KEEP":
        with pytest.raises(SourceError, match=r"table not found: public\.t1"):
            replica.activate(enrollment="regenerate")
    replica.at_source("CREATE TABLE t1 (id int PRIMARY KEY, other int)", "INSERT INTO t1 VALUES (7, 8)")
    assert replica.settle().refresh.tables == {}
    assert replica.rows("SELECT * FROM t1") == [(7, 8)]
    replica.at_source("UPDATE t2 SET v = 'z'", "ALTER TABLE t2 ADD w int")
    assert replica.settle().refresh.tables == {}


@pytest.mark.req("HVR-D-74", "HVR-D-73")
def test_a_name_that_no_pattern_has_takes_the_table_out_of_the_channel(begin: Begin) -> None:
    replica = begin()
    replica.at_source("INSERT INTO t1 VALUES (3, 'c')", "ALTER TABLE t1 RENAME TO other")
    replica.at_source("INSERT INTO other VALUES (4, 'd')", "ALTER TABLE other ADD w int")
    told = replica.settle()
    assert told.refresh.tables == {}
    assert names(replica) == {"t1", "u"}
    assert replica.rows("SELECT id FROM t1 ORDER BY 1") == [(1,), (2,), (3,)]
    replica.at_source("INSERT INTO other VALUES (5, 'e')", "DELETE FROM other WHERE id = 1", "INSERT INTO u VALUES (1)")
    replica.settle()
    assert names(replica) == {"t1", "u"}
    replica.at_source("ALTER TABLE other RENAME TO t3", "INSERT INTO t3 VALUES (6, 'f')")
    assert replica.settle().refresh.tables == {"public.t3": 5}
    assert names(replica) == {"t1", "t3", "u"}
    replica.at_source("CREATE TABLE t1 (id int PRIMARY KEY)", "INSERT INTO t1 VALUES (7)")
    replica.at_source("ALTER TABLE t3 RENAME TO other", "DELETE FROM other", "ALTER TABLE other RENAME TO t4")
    assert replica.settle().refresh.tables == {"public.t4": 0}
    assert replica.rows("SELECT id FROM t1") == [(7,)] and replica.rows("SELECT count(*) FROM t3") == [(5,)]
    replica.at_source("ALTER TABLE t1 RENAME TO more", "ALTER TABLE t4 RENAME TO most", "ALTER TABLE u RENAME TO last")
    for _ in range(2):
        with pytest.raises(SourceError, match="SRC-182"):
            replica.replicate()
    replica.at_source("ALTER TABLE more RENAME TO t1")
    assert replica.settle().refresh.tables == {"public.t1": 1}


def test_names_that_are_exchanged_and_changed_columns(begin: Begin) -> None:
    """Several statements of one cycle: each table has the rows of the source's table of its name."""
    replica = begin("CREATE TABLE t2 (id int PRIMARY KEY, n int)", "INSERT INTO t2 VALUES (9, 9)")
    replica.at_source(
        "INSERT INTO t1 VALUES (3, 'c')",
        "BEGIN; ALTER TABLE t1 RENAME TO tmp; ALTER TABLE t2 RENAME TO t1; ALTER TABLE tmp RENAME TO t2; COMMIT",
        "ALTER TABLE t2 ADD w int",
        "INSERT INTO t2 VALUES (4, 'd', 4)",
        "ALTER TABLE t1 RENAME n TO m",
        "DELETE FROM t1",
    )
    assert replica.settle().refresh.tables == {"public.t1": 0, "public.t2": 4}
    replica.at_source("INSERT INTO t1 VALUES (5, 5)", "UPDATE t2 SET w = 5", "ALTER TABLE t1 RENAME TO t9")
    assert replica.settle().refresh.tables == {"public.t9": 1}
    assert names(replica) == {"t1", "t2", "t9", "tmp", "u"}


def test_a_rename_while_the_table_waits_for_a_refresh(begin: Begin) -> None:
    """The refresh leaves the table to the next cycle, which leaves the old one at the target and loads the new one."""
    replica = begin()
    replica.at_source("ALTER TABLE t1 ALTER v TYPE varchar(1)")
    with flow.open_channel(replica.file, InProcess()) as run:
        flow.capture(run)
        flow.adapt(run)
        replica.at_source("INSERT INTO t1 VALUES (3, 'c')", AWAY)
        assert flow.refresh(run).tables == {}
    assert replica.settle().refresh.tables == {"public.t2": 3}
    assert names(replica) == {"t1", "t2", "u"}
    assert replica.rows("SELECT id FROM t1 ORDER BY 1") == [(1,), (2,)]


def test_a_partitioned_table_and_its_partitions_are_renamed(begin: Begin) -> None:
    replica = begin(
        "CREATE TABLE tp (id int PRIMARY KEY) PARTITION BY RANGE (id)",
        "CREATE TABLE tp1 PARTITION OF tp FOR VALUES FROM (0) TO (10)",
        "INSERT INTO tp VALUES (1)",
        actions={"on_drop_table": "DROP_FROM_CHANNEL_AND_TARGET"},
    )
    replica.at_source(
        "ALTER TABLE tp1 RENAME TO other1", "ALTER TABLE tp RENAME TO other", "INSERT INTO other VALUES (2)"
    )
    assert replica.settle().refresh.tables == {}
    assert names(replica) == {"t1", "other", "other1", "u"}


@pytest.mark.parametrize("ddl", ["triggers", "relations"])
def test_a_target_that_does_not_follow_keeps_the_name(databases: Any, tmp_path: Path, ddl: str) -> None:
    """Beside one that does; and a table that the file calls otherwise keeps that name, and is loaded again."""
    second = databases._create("second")
    places = [{"name": "warehouse", "location": databases.target, "adapt_ddl": [{"table": "*"}]}]
    places += [{"name": "second", "location": second}]
    file = channel_file(
        tmp_path,
        databases.source,
        databases.target,
        source={"ddl": ddl, "adapt_ddl": [{"add_table_pattern": "*"}]},
        targets=places,
        adapt_ddl=[],
        defaults="hvr",
        table_properties=["Table=pinned*, BaseName=fixed, Targets=warehouse"],
    )
    replica = Replica(databases.source, databases.target, file)
    replica.at_source("CREATE TABLE t1 (id int PRIMARY KEY)", "CREATE TABLE pinned1 (id int PRIMARY KEY)")
    replica.at_source("INSERT INTO t1 VALUES (1)", "INSERT INTO pinned1 VALUES (1)")
    replica.activate()
    replica.at_source(AWAY, "ALTER TABLE pinned1 RENAME TO pinned2", "INSERT INTO t2 VALUES (2)")
    replica.at_source("INSERT INTO pinned2 VALUES (2)")
    assert replica.replicate().refresh.tables == {"public.t2": 2, "public.fixed": 2}
    assert names(replica) == {"t1", "t2", "fixed"}
    other = Replica(databases.source, second, file)
    assert names(other) == {"t1", "pinned1"} and other.rows("SELECT id FROM t1 ORDER BY 1") == [(1,), (2,)]
