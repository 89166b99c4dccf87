"""What people hung on a target table survives a refresh; the rows are the source's afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.engines.postgres.catalog.dependents import dependants
from airflow_ddlrepl.engines.postgres.catalog.inspect import inspect
from airflow_ddlrepl.engines.postgres.connection.connect import connect, parameters
from airflow_ddlrepl.errors import CannotAdapt
from airflow_ddlrepl.flow import open_channel, refresh
from airflow_ddlrepl.ports.work import InProcess
from tests.support.replica import Replica, channel_file, run

HANGING = {
    "a view": ("create view v as select id from t", "view v"),
    "a materialized view": ("create materialized view v as select id from t", "materialized view v"),
    "a rule": ("create rule r as on insert to t do also notify x", "rule r on table t"),
    "a foreign key from it": (
        "create table o (id int primary key); insert into o values (1), (2), (3), (4);"
        " alter table t add constraint fk foreign key (id) references o",
        "constraint fk on table t",
    ),
    "a foreign key to it": (
        "create table o (id int references t on delete cascade); insert into o values (1)",
        "constraint o_id_fkey on table o",
    ),
    "a grant": ("grant select on t to public", "a grant"),
    "a grant on a column": ("grant select (note) on t to public", "a grant"),
    "a comment": ("comment on table t is 'hi'", "a comment"),
    "a comment on a column": ("comment on column t.note is 'hi'", "a comment"),
    "a trigger": (
        "create function f() returns trigger language plpgsql as 'begin new.note := ''triggered''; return new; end';"
        " create trigger g before insert or update or delete on t for each row execute function f()",
        "trigger g on table t",
    ),
    "an index": ("create index i on t (note)", "index i"),
    "a unique constraint": ("alter table t add unique (note)", "constraint t_note_key on table t"),
    "a check": ("alter table t add constraint c check (id > 0)", "constraint c on table t"),
    "a policy": ("create policy p on t using (id > 1); alter table t enable row level security", "policy p on table t"),
    "statistics": ("create statistics s on id, note from t", "statistics object s"),
    "a publication": ("create publication p for table t", "publication of table t in publication p"),
    "a child": ("create table child () inherits (t)", "partitions or children"),
    "a storage option": ("alter table t set (fillfactor = 50)", "a tablespace or storage option"),
    "a function with a body": (
        "create function f() returns bigint language sql begin atomic select count(*) from t; end",
        "function f()",
    ),
    "a column of its row type": ("create table o (x t)", "column x of table o"),
    "a replica identity": ("alter table t replica identity full", "a replica identity"),
}


@pytest.fixture
def replica(databases: Any, tmp_path: Path) -> Replica:
    return Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))


def again(replica: Replica, *tables: str) -> Any:
    with open_channel(replica.file, runner=InProcess()) as cycle:
        return refresh(cycle, tables or ["*.*"])


def oids(replica: Replica, *names: str) -> list[Any]:
    return [replica.rows(f"select '{name}'::regclass::oid")[0][0] for name in names]


def test_a_plain_table_is_replaced(replica: Replica) -> None:
    replica.at_source("create table t (id int primary key, note text)", "insert into t values (1, 'a')")
    replica.activate()
    before = oids(replica, "t")
    again(replica)
    assert oids(replica, "t") != before
    replica.check_equal()


@pytest.mark.parametrize("databases", [18, 15], indirect=True)
def test_each_kind_is_seen(databases: Any) -> None:
    with connect(databases.target) as connection:
        connection.execute(
            b"create table t (id bigint generated always as identity primary key, note varchar(9) not null default 'x',"
            b" g int generated always as (1) stored, big text); insert into t values (default, 'a'), (default, 'b')"
        )
        assert dependants(connection, inspect(connection, patterns=["public.t"])[0]) == []
        for kind, (sql, expected) in HANGING.items():
            with connection.transaction(force_rollback=True):
                connection.execute(sql.encode())
                found = dependants(connection, inspect(connection, patterns=["public.t"])[0])
            assert any(expected in what for what in found), (kind, found)


@pytest.mark.parametrize("databases", [18, 15], indirect=True)
def test_all_of_it_survives(replica: Replica) -> None:
    replica.at_source(
        "create table t (id int primary key, note text)",
        "insert into t select i, 'n' || i from generate_series(1, 3) i",
    )
    replica.activate()
    left_out = ("a child", "a policy", "a column of its row type", "a materialized view", "a function with a body")
    for number, (kind, (sql, _)) in enumerate(HANGING.items()):
        if kind not in left_out:
            replica.at_target(
                sql.replace("table o ", f"table o{number} ")
                .replace("into o ", f"into o{number} ")
                .replace("references o", f"references o{number}")
            )
    before = oids(replica, "t")
    definition = replica.rows(
        "select pg_describe_object(classid, objid, 0) from pg_depend where refobjid = 't'::regclass order by 1"
    )
    replica.at_target("set session_replication_role = replica; update t set note = 'spoilt ' || id")
    replica.at_source("insert into t values (4, 'four')")
    again(replica)
    assert oids(replica, "t") == before
    assert definition == replica.rows(
        "select pg_describe_object(classid, objid, 0) from pg_depend where refobjid = 't'::regclass order by 1"
    )
    assert replica.rows("select * from t order by id") == [(1, "n1"), (2, "n2"), (3, "n3"), (4, "four")]
    assert replica.rows("select count(*) from v") == [(4,)]
    assert replica.rows("select tgenabled from pg_trigger where tgname = 'g'") == [("O",)]
    replica.at_source("update t set note = 'after' where id = 1")
    replica.settle()


def test_a_changed_shape_under_a_view(replica: Replica) -> None:
    replica.at_source("create table t (id int primary key, a int, b text)", "insert into t values (1, 2, 'x')")
    replica.activate()
    replica.at_target("create view v as select id, b from t", "grant select on t to public")
    replica.at_source("alter table t alter a type text using 'a' || a, add c int default 7")
    replica.settle()
    assert replica.rows("select t::text from t") == [("(1,a2,x,7)",)] and replica.rows("select * from v") == [(1, "x")]
    replica.at_source("alter table t alter b type int using length(b)")
    with pytest.raises(CannotAdapt) as caught:
        replica.replicate()
    assert caught.value.code.startswith("ADP-13") and "view public.v" in str(caught.value)
    assert replica.rows("select t::text from t") == [("(1,a2,x,7)",)]
    replica.at_target("drop view v")
    replica.settle()


def test_without_the_right_to_let_triggers_and_keys_rest(replica: Replica, databases: Any, tmp_path: Path) -> None:
    """A plain owner: triggers are put to sleep and woken, foreign keys are checked at the end."""
    role = f"plain_{databases.source[-8:]}"
    databases.server.create_role(role)
    here = databases.server.dsn(parameters(replica.target)["dbname"], role)
    replica.at_target(
        f"grant create on schema public to {role}",
        f"grant create on database {parameters(replica.target)['dbname']} to {role}",
    )
    channel_file(tmp_path, replica.source, here)
    replica.at_source("create table t (id int primary key, note text)", "insert into t values (1, 'a'), (2, 'b')")
    replica.activate()
    run(here, HANGING["a trigger"][0], "create table o (id int references t)", "insert into o values (1)")
    run(here, "create rule r as on insert to t do instead nothing", "update t set note = 'spoilt' where id = 1")
    again(replica)
    assert replica.rows("select * from t order by id") == [(1, "a"), (2, "b")]
    assert replica.rows("select tgenabled from pg_trigger where tgname = 'g'") == [("O",)]
    run(here, "alter table o drop constraint o_id_fkey, add foreign key (id) references t on delete cascade")
    with pytest.raises(Exception, match="session_replication_role"):
        again(replica)
    assert replica.rows("select * from t order by id") == [(1, "a"), (2, "b")] and replica.rows("select * from o") == [
        (1,)
    ]
    run(replica.target, f"grant set on parameter session_replication_role to {role}")
    try:
        again(replica)
    finally:
        run(replica.target, f"revoke set on parameter session_replication_role from {role}")
    assert replica.rows("select * from o") == [(1,)]
    run(replica.target, f"drop owned by {role} cascade")
    run(replica.source, f"drop role {role}")


@pytest.mark.req("HVR-P-92")
def test_a_kept_table_is_used_again(replica: Replica) -> None:
    replica.at_source("create table t (id int primary key)", "insert into t values (1)")
    replica.activate()
    replica.at_source("drop table t")
    replica.replicate()
    replica.at_source("create table t (id int primary key, v text)", "insert into t values (2, 'new')")
    replica.settle()
    assert replica.rows("select * from t") == [(2, "new")]
    assert replica.rows(
        "select relname from pg_class where relname like 't%' and relkind = 'r' and relnamespace <> 11"
        " and relnamespace::regnamespace::text = 'public'"
    ) == [("t",)]
    assert replica.rows("select state from ddlrepl.tables") == [("live",)]
    replica.at_source("alter table t rename to u", "create table t (id int primary key)", "insert into t values (3)")
    replica.settle()


def test_narrowed_without_a_wish_to_keep(replica: Replica) -> None:
    replica.at_source("create table t (id int primary key, v varchar(12))", "insert into t values (1, 'a')")
    replica.activate()
    replica.at_source("alter table t alter v type varchar(5) using substr(v || 'bcdefg', 1, 5)")
    assert list(replica.settle().refresh.tables) == ["public.t"]
    assert replica.rows("select v from t") == [("abcde",)]


@pytest.mark.req("HVR-P-94", "HVR-P-95", "HVR-P-100")
@pytest.mark.parametrize("hanging", [False, True])
def test_structure_that_is_kept(replica: Replica, tmp_path: Path, hanging: bool) -> None:
    """A refresh keeps the columns that the source dropped, with their values, and types as wide as they stand."""
    actions = [{"add_table_pattern": "*", "keep_existing_structure": True}]
    channel_file(tmp_path, replica.source, replica.target, adapt_ddl=actions)
    replica.at_source(
        "create table t (id int primary key, old text not null, v varchar(12))",
        "insert into t values (1, 'one', 'a'), (2, 'two', 'b'), (3, 'three', 'c')",
    )
    replica.activate()
    if hanging:
        replica.at_target("create view w as select id, old from t")
    before = oids(replica, "t")
    replica.at_source("alter table t drop old", "alter table t alter v type varchar(5)", "delete from t where id = 2")
    replica.at_source("insert into t values (4, 'd')")
    result = replica.settle()
    assert list(result.refresh.tables) == ["public.t"]
    assert replica.rows("select * from t order by id") == [(1, "one", "a"), (3, "three", "c"), (4, None, "d")]
    assert replica.rows(
        "select format_type(atttypid, atttypmod) from pg_attribute where attrelid = 't'::regclass and attname = 'v'"
    ) == [("character varying(12)",)]
    assert (oids(replica, "t") == before) is hanging
    replica.at_source("insert into t values (5, 'e')", "update t set v = 'z' where id = 1")
    replica.settle()
    assert replica.rows("select old from t where id = 1") == [("one",)]
