"""Several targets, several channels, and what a channel is told to take: over the whole flow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.replica import Replica, channel_file, run

ROWS = (
    "create table t (id int primary key, v varchar(10))",
    "insert into t select i, 'v' || i from generate_series(1, 20) i",
    "create table u (v text)",
    "insert into u values ('a'), ('a')",
)


def channel(databases: Databases, folder: Path, name: str = "shop", /, **more: Any) -> Replica:
    place = folder / name
    place.mkdir(exist_ok=True)
    targets = [{"name": "warehouse", "location": databases.target, **more.pop("target", {})}]
    file = channel_file(place, databases.source, databases.target, **{"channel": name, "targets": targets, **more})
    return Replica(databases.source, databases.target, file)


def tables(dsn: str, schema: str = "public") -> set[str]:
    with psycopg.connect(dsn) as connection:
        rows = connection.execute("select relname from pg_class where relnamespace = %s::regnamespace and relkind in"
                                  " ('r', 'p')", [schema])  # fmt: skip
        return {name for (name,) in rows}


def stored(replica: Replica) -> tuple[set[str], set[str]]:
    """The names that the channel's tables have at the source and at the target, as they are stored."""
    with flow.open_channel(replica.file, InProcess()) as run:
        known = run.repository.latest_revisions(run.channel.name).values()
    at_target = replica.rows("select schema_name || '.' || table_name from ddlrepl.tables")
    return {str(one.table.name) for one in known if one.table}, {name for (name,) in at_target}


def deactivate(replica: Replica) -> None:
    with flow.open_channel(replica.file, InProcess()) as cycle:
        flow.deactivate(cycle)


@pytest.fixture
def second(databases: Databases) -> str:
    """Another target."""
    return databases._create("second")


@pytest.mark.parametrize("first_down", [True, False])
def test_a_target_that_is_down_catches_up(databases: Databases, second: str, tmp_path: Path, first_down: bool) -> None:
    targets = [{"name": "near", "location": databases.target}, {"name": "far", "location": second}]
    replica = channel(databases, tmp_path, targets=targets[::-1] if first_down else targets)
    replica.at_source(*ROWS)
    replica.activate()
    replica.at_source("update t set v = 'b' where id < 5", "alter table t add column c int default 3")
    name = second.rsplit("/", 1)[1]
    ends = f"select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '{name}'"
    run(databases.server.dsn(), f"alter database {name} allow_connections false", ends)
    for number in range(2):
        with pytest.raises(DdlReplError, match="CON-10"):
            replica.replicate()
        replica.at_source(f"insert into t values ({number + 100}, 'x', 4)", f"alter table t add column d{number} int")
    assert replica.rows("select count(*) from t where v = 'b'") == [(4,)]
    assert replica.rows("select count(d0) from t where id = 100") == [(0,)]
    run(databases.server.dsn(), f"alter database {name} allow_connections true")
    replica.settle()


def test_a_schema_of_its_own_at_the_target(databases: Databases, tmp_path: Path) -> None:
    replica = channel(databases, tmp_path, target={"schemas": {"public": "dw", "sales": "Dw 2"}})
    replica.at_source(*ROWS, "create schema sales", "create table sales.t (id int primary key)")
    replica.activate()
    replica.at_source(
        "alter table t rename to tt",
        "alter table u set schema sales",
        "create table sales.x (id int)",
        "insert into sales.x values (1)",
        "drop table sales.t",
        "create table p (id int, primary key (id)) partition by list (id)",
        "create table sales.p1 partition of p for values in (1)",
        "insert into p values (1)",
    )
    replica.settle()
    assert tables(databases.target, "dw") == {"tt", "p"} and tables(databases.target, '"Dw 2"') == {"t", "u", "x", "p1"}
    assert tables(databases.target) == set()


def test_two_channels_on_one_source_and_one_target(databases: Databases, tmp_path: Path) -> None:
    one = channel(databases, tmp_path, "one", source={"tables": ["public.t"]}, adapt_ddl=[])
    two = channel(databases, tmp_path, "Two", target={"schemas": {"public": "dw"}})
    one.at_source(*ROWS)
    one.activate()
    two.activate()
    one.at_source("alter table t add column c int default 3", "insert into u values ('b')", "create table w (i int)")
    one.settle()
    one.at_source("update t set c = 4 where id = 1")
    two.settle()
    one.settle()
    deactivate(one)
    two.at_source("alter table t drop column c", "update u set v = 'z'", "alter table w add column j int")
    two.settle()
    assert tables(databases.target) == {"t"}
    one.at_target("drop table t")
    one.activate()
    deactivate(two)
    one.at_source("alter table t add column again text", "insert into t values (200, 'x', 'y')")
    one.settle()
    deactivate(one)
    for dsn in (databases.source, databases.target):
        with psycopg.connect(dsn) as connection:
            assert connection.execute("select to_regnamespace('ddlrepl')").fetchone() == (None,)


def test_a_target_can_be_the_source_of_another_channel(databases: Databases, second: str, tmp_path: Path) -> None:
    near = channel(databases, tmp_path, "near")
    near.at_source(*ROWS)
    near.activate()
    (tmp_path / "far").mkdir()
    far = Replica(
        databases.target, second, channel_file(tmp_path / "far", databases.target, second, **{"channel": "far"})
    )
    far.activate()
    near.at_source("alter table t add column c int default 3", "insert into u values ('b')", "create table w (i int)")
    near.settle()
    far.settle()
    deactivate(far)
    near.at_source("update t set c = 4 where id = 1", "alter table u add column n int")
    near.settle()
    assert near.rows("select c from t where id = 1") == [(4,)] != far.rows("select c from t where id = 1")


def test_activation_again_changes_nothing(databases: Databases, tmp_path: Path) -> None:
    replica = channel(databases, tmp_path)
    replica.at_source(*ROWS)
    with flow.open_channel(replica.file, InProcess()) as cycle:
        assert flow.activate(cycle, load=False).refreshed == {}
    assert tables(databases.target) == set()
    again = replica.activate()
    assert set(again.refreshed) == {"public.t", "public.u"}
    replica.at_source("insert into t values (100, 'x')", "alter table t add column c int")
    third = replica.activate()
    assert third.refreshed == {} and third.tables == again.tables and third.position == again.position
    replica.at_source("insert into t values (101, 'x', 5)", "create table w (i int)")
    assert replica.activate().refreshed.keys() <= {"public.w"}
    replica.settle()


def test_a_lost_slot_is_mended_by_activation_and_the_tables_stay(databases: Databases, tmp_path: Path) -> None:
    replica = channel(databases, tmp_path)
    replica.at_source(*ROWS)
    replica.activate()
    replica.at_target("create view seen as select id from t", "create index own on t (v)")
    replica.at_source("insert into t values (100, 'captured')")
    replica.settle()
    replica.at_source("select pg_drop_replication_slot('ddlrepl_shop')", "delete from t where id = 3")
    with pytest.raises(DdlReplError, match="SRC-1") as caught:
        replica.replicate()
    assert "activate" in caught.value.hint
    replica.at_source("alter table t add column missed int default 4")
    assert set(replica.activate().refreshed) == {"public.t", "public.u"}
    replica.check_equal()
    assert replica.rows("select count(*) from seen") == [(20,)]
    assert replica.rows("select count(*) from pg_indexes where indexname = 'own'") == [(1,)]
    replica.at_source("insert into t values (101, 'x', 1)", "alter table t drop column v")
    replica.settle()


@pytest.mark.req("HVR-P-02")
def test_without_a_pattern_new_tables_stay_out(databases: Databases, tmp_path: Path) -> None:
    replica = channel(databases, tmp_path, source={"tables": ["public.t"]}, adapt_ddl=[])
    replica.at_source(*ROWS)
    replica.activate()
    replica.at_source(
        "create table later (i int)",
        "insert into later values (1)",
        "alter table u add column n int",
        "update t set v = 'x'",
        "alter table t rename to renamed",
    )
    replica.settle()
    assert tables(databases.target) == {"renamed"}


@pytest.mark.req("HVR-P-01", "HVR-P-08", "HVR-P-09", "HVR-P-12", "HVR-P-14", "HVR-P-15", "HVR-P-23")
@pytest.mark.parametrize("ddl", ["triggers", "relations"])
def test_patterns_decide_which_new_tables_join(databases: Databases, tmp_path: Path, ddl: str) -> None:
    actions = [
        {"add_table_pattern": "t*", "ignore_table_pattern": "tmp*|temp*"},
        {"add_table_pattern": "*x"},
    ]
    source = {"tables": ["public.start"], "exclude": ["public.t_secret"], "ddl": ddl}
    replica = channel(databases, tmp_path, source=source, adapt_ddl=actions)
    replica.at_source("create table start (i int)", "create schema other")
    replica.activate()
    new = ["tab_1", "tmp_x", "tmp_y", "temp_x", "temp1", "tx", "abc", "t_secret"]
    for name in new:
        replica.at_source(f"create table {name} (i int)", f"insert into {name} values (1)")
    replica.at_source("create table other.tab (i int)")
    replica.settle()
    assert tables(databases.target) == {"start", "tab_1", "tmp_x", "temp_x", "tx"}
    assert replica.rows("select to_regclass('other.tab')") == [(None,)]
    for name in new:
        replica.at_source(f"insert into {name} values (2)", f"alter table {name} add column j int default 3")
    replica.settle()
    assert replica.rows("select count(*), min(j) from tx") == [(2, 3)]
    replica.at_source("alter table tmp_y rename to t_now")
    replica.settle()
    assert replica.rows("select count(*) from t_now") == [(2,)]


@pytest.mark.req("HVR-P-22", "HVR-P-27", "HVR-P-28", "HVR-P-29", "HVR-P-33")
@pytest.mark.parametrize("ddl", ["triggers", "relations"])
def test_new_tables_of_two_schemas_go_into_two_others(
    databases: Databases, tmp_path: Path, ddl: str, caplog: pytest.LogCaptureFixture
) -> None:
    into = [{"add_table_pattern": "*", "capture_schema": f"AA{n}", "integrate_schema": f"bb{n}"} for n in (1, 2)]
    source = {"tables": ["public.start"], "ddl": ddl}
    replica = channel(databases, tmp_path, source=source, adapt_ddl=into)
    replica.at_source("create table start (i int)", "create schema aa1", "create schema aa2")
    replica.activate()
    for n in (1, 2):
        replica.at_source(
            f"create table aa{n}.tab (i int primary key, n int generated always as identity)",
            f"insert into aa{n}.tab values ({n})",
        )
    replica.settle()
    replica.at_source("insert into aa1.tab values (10)", "alter table aa2.tab add j int", "update aa2.tab set j = 5")
    replica.settle()
    assert replica.rows("select i from bb1.tab order by 1") == [(1,), (10,)]
    assert replica.rows("select i, j from bb2.tab") == [(2, 5)]
    assert stored(replica) == ({"public.start", "aa1.tab", "aa2.tab"}, {"public.start", "bb1.tab", "bb2.tab"})
    assert replica.rows("select to_regnamespace('aa1'), to_regnamespace('aa2')") == [(None, None)]
    replica.at_source(
        "alter table aa1.tab rename constraint tab_pkey to moved_pkey",
        "alter sequence aa1.tab_n_seq rename to moved_n_seq",
        "alter table aa1.tab rename to moved",
        "alter table aa1.moved set schema aa2",
    )
    replica.settle()
    assert replica.rows("select i from bb2.moved order by 1") == [(1,), (10,)]
    assert ("no DDL record explains" in caplog.text) is (ddl == "relations")
    assert tables(databases.target, "bb1") == set()


@pytest.mark.req("HVR-P-20", "HVR-P-24")
def test_the_schema_whose_new_tables_join(databases: Databases, tmp_path: Path) -> None:
    """The schema is stored with the new table, on both sides; nobody writes an action for it."""
    action = {"add_table_pattern": "*", "capture_schema": "aa1"}
    replica = channel(databases, tmp_path, source={"tables": ["public.start"]}, adapt_ddl=[action])
    replica.at_source("create table start (i int)", "create schema aa1")
    replica.activate()
    replica.at_source("create table aa1.t (i int)", "insert into aa1.t values (1)", "create table t (i int)")
    replica.settle()
    assert tables(databases.target) == {"start"} and tables(databases.target, "aa1") == {"t"}
    assert stored(replica) == ({"public.start", "aa1.t"}, {"public.start", "aa1.t"})


def test_excluded_tables_stay_out(databases: Databases, tmp_path: Path) -> None:
    replica = channel(databases, tmp_path, source={"exclude": ["public.u", "*.secret*", "hidden.*"]})
    replica.at_source(*ROWS, "create schema hidden", "create table hidden.a (i int)")
    replica.activate()
    replica.at_source(
        "update u set v = 'z'",
        "create table secret_1 (i int)",
        "insert into hidden.a values (1)",
        "create table open (i int)",
    )
    replica.settle()
    assert tables(databases.target) == {"t", "open"}


@pytest.mark.req("HVR-P-94", "HVR-P-95", "HVR-P-96")
@pytest.mark.parametrize("ddl", ["triggers", "relations"])
def test_keep_existing_structure(databases: Databases, tmp_path: Path, ddl: str) -> None:
    actions = [{"add_table_pattern": "*", "keep_existing_structure": True}]
    replica = channel(databases, tmp_path, adapt_ddl=actions, source={"ddl": ddl})
    replica.at_source("create table t (id int primary key, v varchar(12), w varchar(12), n varchar(5))")
    replica.at_source("insert into t values (1, 'twelve chars', 'w', 'n')")
    replica.activate()
    replica.at_source("alter table t alter w type varchar(5)")
    replica.replicate()
    replica.at_source("alter table t alter n type varchar(12)", "insert into t values (2, 'v', 'w', 'longer than')")
    replica.replicate()
    replica.at_source("alter table t drop column v", "insert into t values (3, 'w', 'n')")
    replica.replicate()
    replica.at_source("alter table t add column c int default 5", "update t set w = 'ww' where id = 1")
    replica.replicate()
    assert replica.rows("select id, v, w, c from t order by 1") == [
        (1, "twelve chars", "ww", 5),
        (2, "v", "w", 5),
        (3, None, "w", 5),
    ]
    widths = "select attname::text, atttypmod - 4 from pg_attribute where attrelid = 't'::regclass and atttypmod > 0"
    assert sorted(replica.rows(widths)) == [("n", 12), ("v", 12), ("w", 12)]


@pytest.mark.req("HVR-P-87", "HVR-P-89", "HVR-P-90", "HVR-P-92", "HVR-D-19")
@pytest.mark.parametrize("ddl", ["triggers", "relations"])
@pytest.mark.parametrize("policy", ["KEEP", "DROP_FROM_CHANNEL_ONLY", "DROP_FROM_CHANNEL_AND_TARGET", None])
def test_on_drop_table(databases: Databases, tmp_path: Path, ddl: str, policy: str | None) -> None:
    actions = [{"add_table_pattern": "*", **({"on_drop_table": policy} if policy else {})}]
    replica = channel(databases, tmp_path, adapt_ddl=actions, source={"ddl": ddl})
    replica.at_source(*ROWS)
    replica.activate()
    replica.at_source("insert into t values (100, 'last')", "drop table t", "update u set v = 'z'")
    result = replica.settle()
    stays = policy != "DROP_FROM_CHANNEL_AND_TARGET"
    assert tables(databases.target) == ({"t", "u"} if stays else {"u"})
    assert bool(result.adapt.warnings) is (policy == "KEEP")
    if stays:
        assert replica.rows("select count(*) from t") == [(21,)]
    replica.at_source("create table t (id int primary key, other int)", "insert into t values (7, 8)")
    replica.settle()
    assert replica.rows("select * from t") == [(7, 8)]
