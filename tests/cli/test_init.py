"""`ddlrepl init`: what it finds at real servers, what it asks an administrator for, and that its file activates."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

import psycopg

from airflow_ddlrepl.config.file.json_schema import json_schema
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.demo.servers import PrivateServer
from tests.cli.conftest import Init, yaml_of
from tests.conftest import Databases
from tests.support.replica import BOTH, Replica, run

HOSTILE = 'we"ird\n  - evil: true ${HOME} *|[x] \u2028\x1b[2J é'


@BOTH
def test_a_proposed_file_activates_and_replicates(init: Init, replica: Replica) -> None:
    """From a first row to a schema change, with the default file; nothing is made at the source before `activate`."""
    replica.at_source(
        "create table orders (id int primary key, note text)",
        "insert into orders select i, 'x' from generate_series(1, 100) i",
        "analyze orders",
    )
    found = init()
    assert found.code == 0, found
    assert "public.orders: about 100 rows" in found.out and "superuser" in found.out
    assert f"  ddlrepl activate {init.file}" in found.out and f"  ddlrepl replicate {init.file}" in found.out
    assert "export SHOP_SOURCE_PASSWORD=" in found.out
    with psycopg.connect(replica.source) as connection:
        assert connection.execute("select count(*) from pg_namespace where nspname = 'ddlrepl'").fetchone() == (0,)
        assert connection.execute("select count(*) from pg_publication").fetchone() == (0,)
    replica.activate()
    replica.at_source("alter table orders add total int default 3", "insert into orders values (101, 'new')")
    replica.at_source("create table later (id int primary key)", "insert into later values (1)")
    replica.settle()
    assert replica.rows("select count(*), sum(total) from orders") == [(101, 303)]
    assert replica.rows("select * from later") == [(1,)]


def test_the_schema_lies_beside_the_file(init: Init, databases: Databases) -> None:
    assert init().code == 0
    first = init.file.read_text().partition("\n")[0]
    assert first.startswith("# yaml-language-server: $schema=")
    assert json.loads((init.file.parent / first.partition("$schema=")[2]).read_text()) == json_schema()


TABLES = (
    "create table no_key (a int, b text)",
    "insert into no_key values (1, 'x'), (1, 'x')",
    "create unlogged table cache (id int primary key)",
    "insert into cache values (1)",
    'create schema "My Schema"',
    f'create table "My Schema"."{HOSTILE.replace(chr(34), chr(34) * 2)}" (id int primary key, "Col ""x" text)',
    f'insert into "My Schema"."{HOSTILE.replace(chr(34), chr(34) * 2)}" values (1, \'y\')',
    "create type mood as enum ('good', 'bad')",
    "create domain short as varchar(3) check (value <> 'no')",
    "create table odd (id int primary key, m mood, s short, t tsvector, r int4range, b bit varying(3)[], i interval,"
    " j jsonb, n numeric(10, 2), c cidr)",
    "insert into odd values (1, 'good', 'yes', 'a b', '[1,3)', '{101}', '1 month', '{}', 1.5, '10.0.0.0/8')",
    "create table parts (d date, v int) partition by range (d)",
    "create table parts_20 partition of parts for values from ('2020-01-01') to ('2021-01-01')",
    "insert into parts values ('2020-05-05', 1)",
    "create view shown as select 1 as one",
    "create materialized view kept as select 1 as one",
    "create foreign data wrapper nowhere",
    "create server away foreign data wrapper nowhere",
    "create foreign table far (id int) server away",
    "create sequence numbers",
)


@BOTH
def test_all_sorts_of_tables(init: Init, replica: Replica) -> None:
    """Without keys, unlogged, foreign, partitioned, with odd types, and names that would end a line or a quote."""
    replica.at_source(*TABLES)
    found = init()
    assert found.code == 0, found
    told = [line.strip() for line in found.out.splitlines()]
    assert "public.cache: it is unlogged: its rows are not in the log" in told
    assert "1 foreign table: public.far: a target gets none" in told
    assert "1 view: public.shown: a target gets none" in told
    assert any(line.startswith("1 sequence: public.numbers") for line in told)
    assert any(line.startswith("public.no_key: no key") for line in told)
    assert any(line.startswith("public.parts: ") and "1 partition" in line for line in told)
    assert "\x1b" not in found.out and "\u2028" not in found.out
    data = yaml_of(init.file)
    assert set(data) == {"channel", "source", "targets", "adapt_ddl"}
    assert set(data["source"]) == {"location", "tables"}
    assert data["source"]["tables"] == ['"My Schema".*', "public.*"]
    replica.activate()
    replica.at_source("insert into no_key values (2, 'z')", "update odd set m = 'bad'", "delete from parts")
    replica.settle(left_out=["public.cache"])
    assert replica.rows(f'select * from "My Schema"."{HOSTILE.replace(chr(34), chr(34) * 2)}"') == [(1, "y")]


def test_only_the_tables_that_are_named(init: Init, replica: Replica) -> None:
    replica.at_source("create table a (id int primary key)", 'create table "B${x}" (id int primary key)')
    assert init("--table", "public.a", "--table", 'public."B${x}"').code == 0
    assert load_channel(init.file).source.tables == ("public.a", 'public."B${x}"')
    replica.activate()
    replica.settle()


def test_a_table_that_the_target_refuses_is_excluded_with_the_reason(init: Init, replica: Replica) -> None:
    replica.at_source(
        "create function bucket(int) returns int language sql immutable as 'select $1 / 10'",
        "create table strange (id int) partition by range (bucket(id))",
        "create table plain (id int primary key)",
    )
    found = init()
    assert found.code == 0 and "ADP-191" in found.out.partition("Not replicated:")[2]
    assert yaml_of(init.file)["source"]["exclude"] == ['"public"."strange"']
    assert "ADP-191" in init.file.read_text()
    replica.activate()
    replica.settle()


def test_a_virtual_column_without_a_key_is_loaded_whole(init: Init, replica: Replica) -> None:
    replica.at_source("create table g (a int, b int generated always as (a + 1) virtual)", "insert into g values (1)")
    found = init()
    assert found.code == 0 and "loaded whole" in found.out
    assert "public.g" not in found.out.partition("Not replicated:")[2].partition("To know:")[0]
    replica.activate()
    assert replica.rows("select b from g") == [(2,)]


@BOTH
def test_without_a_superuser(init: Init, replica: Replica, databases: Databases) -> None:
    """The file works with the owning role of docs/postgresql.md; what is lost without event triggers is said."""
    replica.at_source("create role app_owner_%s" % (name := urlsplit(databases.source).path[1:]))
    replica.at_source("create table t (id int primary key, a int)", f"alter table t owner to app_owner_{name}")
    replica.at_source("insert into t values (1, 1)")
    owner = _owning_role(databases, f"app_owner_{name}")
    found = init(source=owner)
    assert found.code == 0, found
    assert "Without a superuser" in found.out and "ambiguous" in found.out and "activate --no-refresh" in found.out
    assert yaml_of(init.file)["source"]["ddl"] == "auto"
    replica.activate()
    with psycopg.connect(databases.source) as connection:
        assert connection.execute("select count(*) from pg_event_trigger").fetchone() == (0,)
    replica.at_source("alter table t rename a to b", "alter table t add c int", "insert into t values (2, 2, 2)")
    replica.settle()


def _owning_role(databases: Databases, app: str) -> str:
    """The owning role of docs/postgresql.md, for the owner `app` of the tables."""
    name = urlsplit(databases.source).path[1:]
    role = f"ddlrepl_owner_{name}"
    run(
        databases.source,
        f"create role {role} login replication password '{databases.server.password}'",
        f'grant create on database "{name}" to {role}',
        f"grant {app} to {role}",
    )
    return databases.server.dsn(name, role)


def test_what_a_small_role_lacks_is_said_as_sql(init: Init, replica: Replica, databases: Databases) -> None:
    """An administrator runs the lines as they are; then nothing is missing, and the file activates."""
    replica.at_source("create role app_of_init nologin", "create schema s", "grant usage on schema s to app_of_init")
    replica.at_source("create table s.t (id int primary key)", "alter table s.t owner to app_of_init")
    for name in ("poor_source", "poor_target"):
        replica.at_source(f"create role {name} login password '{databases.server.password}'")
    source = databases.server.dsn(urlsplit(databases.source).path[1:], "poor_source")
    target = databases.server.dsn(urlsplit(databases.target).path[1:], "poor_target")
    replica.at_target("create schema s")
    try:
        found = init(source=source, target=target)
        assert found.code == 1, found
        assert "-- poor_source may not use slots" in found.out
        for place, dsn in (("source", databases.source), ("target", databases.target)):
            _, _, rest = found.out.partition(f"Missing at the {place}")
            lines = [line.strip() for line in rest.partition("\n\n")[0].splitlines()[1:]]
            run(dsn, *(line for line in lines if not line.startswith("--")))
            run(dsn, *(line.partition("where there is none:")[2] for line in lines if "where there is none:" in line))
        again = init("--force", source=source, target=target)
        assert again.code == 0, again
        replica.activate()
        replica.at_source("insert into s.t values (1)")
        replica.settle()
    finally:
        for dsn in (databases.source, databases.target):
            run(dsn, "drop owned by poor_source, poor_target, app_of_init cascade")
        run(databases.source, "drop role poor_source, poor_target, app_of_init")


def test_the_name_of_a_role_ends_no_line(init: Init, replica: Replica, databases: Databases) -> None:
    """Neither in the file, nor among the statements that an administrator is to run."""
    role = "r\nsource: evil\nDROP TABLE t;\x1b"
    databases.server.create_role(role)
    try:
        found = init(source=databases.server.dsn(urlsplit(databases.source).path[1:], role))
        assert found.code == 1 and "r\\nsource: evil\\nDROP TABLE t;\\x1b may not use slots" in found.out
        assert not any(line.strip().startswith(("DROP", "source: evil")) for line in found.out.splitlines())
        assert set(yaml_of(init.file)["source"]) == {"location", "tables", "ddl"}
        assert load_channel(init.file).name == "shop"
    finally:
        run(databases.source, f'drop role "{role}"')


def test_many_tables_are_patterns(init: Init, databases: Databases, replica: Replica) -> None:
    statements = [f"create schema s{n}; create table s{n}.t (id int primary key)" for n in range(22)]
    statements += [f"create table t{n} (id int primary key)" for n in range(300)]
    run(databases.source, ";".join(statements))
    found = init()
    assert found.code == 0 and "tables  322" in found.out and "and 312 smaller ones" in found.out
    assert len(found.out.splitlines()) < 60 and len(init.file.read_text().splitlines()) < 60
    assert load_channel(init.file).source.tables == ("*.*",)


def test_servers_that_do_not_answer(init: Init, databases: Databases, replica: Replica) -> None:
    away = "postgresql://dw:geheim@127.0.0.1:1/warehouse"
    run(databases.source, "create table t (id int primary key)")
    found = init(source=away)
    assert found.code == 4 and not init.file.exists() and "geheim" not in found.err
    found = init(target=away)
    assert found.code == 4 and "The target could not be asked" in found.out and "geheim" not in found.out
    assert load_channel(init.file).source.tables == ("public.*",)
    assert "geheim" not in init.file.read_text()


def test_a_log_without_rows(init: Init, databases: Databases, private_server: type[PrivateServer]) -> None:
    with private_server("target") as server:  # its wal_level is replica
        found = init(source=server.dsn("postgres"))
    assert found.code == 1
    assert "  ALTER SYSTEM SET wal_level = 'logical'; -- and restart the server" in found.out
    assert "When that is done:" in found.out


def test_tables_of_others_at_the_target(init: Init, replica: Replica) -> None:
    """Rows of somebody else's are never to be overwritten by a proposal: it says so, and the file refuses them."""
    replica.at_source("create table t (id int primary key)", "create table u (id int primary key)")
    replica.at_target("create table t (id int primary key)", "insert into t values (7)")
    found = init()
    assert found.code == 1 and "public.t" in found.out and "ADP-120" in found.out and "existing_tables" in found.out
    assert "existing_tables" not in yaml_of(init.file)["targets"][0]


def test_a_source_that_is_its_own_target(init: Init, databases: Databases) -> None:
    run(databases.source, "create table t (id int primary key)")
    found = init(target=databases.source)
    assert found.code == 1 and "TGT-106" in found.out and yaml_of(init.file)["source"]["tables"] == ["public.*"]
