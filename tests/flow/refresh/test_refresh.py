"""A refresh brings every table over exactly, whatever its types, names and keys, and again when asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.engines import chunks
from airflow_ddlrepl.engines.postgres.connection.quoting import quote
from airflow_ddlrepl.errors import CannotAdapt, TargetError
from tests.support.replica import Replica, channel_file

BUILT_IN = {
    "bool": ["true", "false"],
    "int2": ["-32768"],
    "int8": ["9223372036854775807"],
    "float4": ["'NaN'", "'-Infinity'", "1.1"],
    "float8": ["'-0'", "0.1", "'5e-324'"],
    "numeric": ["'NaN'", "'-Infinity'", "1.000", "1e-300", "123456789012345678901234567890.123456789"],
    "numeric(12,2)": ["1.50"],
    "text": ["''", "E'tab\\t nl\\n \\\\ back'", "'ü €'"],
    "varchar(20)": ["'a '"],
    "char(5)": ["'a'"],
    "bpchar": ["'a '"],
    '"char"': ["'x'"],
    "name": ["'n'"],
    "bytea": ["'\\x00ff'"],
    "date": ["'infinity'", "'0044-03-15 BC'"],
    "time": ["'24:00'"],
    "timetz": ["'12:00+13'"],
    "timestamp": ["'294276-12-31 23:59:59.999999'", "'-infinity'"],
    "timestamptz": ["'2026-01-01 00:00:00.000001+05:30'"],
    "interval": ["'1 year 2 months -3 days 04:05:06.7'"],
    "uuid": ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"],
    "json": ['\'{"b": 1,  "a": [null]}\''],
    "jsonb": ["'{\"b\": 1.00}'"],
    "inet": ["'10.0.0.1/8'", "'::1'"],
    "cidr": ["'10.0.0.0/8'"],
    "macaddr8": ["'08:00:2b:01:02:03:04:05'"],
    "bit(3)": ["B'101'"],
    "varbit": ["B''"],
    "money": ["'12.34'"],
    "point": ["'(1,2)'"],
    "polygon": ["'((0,0),(1,1),(1,0))'"],
    "tsvector": ["'a:1 b'"],
    "tsquery": ["'a & !b'"],
    "int4range": ["'[1,5)'", "'empty'"],
    "tstzmultirange": ["'{[2026-01-01,2026-02-01),(2027-01-01,)}'"],
    "int4[]": ["'[0:1][0:1]={{1,null},{3,4}}'", "'{}'"],
    "text[]": ['\'{"a,b",NULL,""}\''],
    "numeric[]": ["'{1.50,NaN}'"],
    "pg_lsn": ["'16/B374D848'"],
    "jsonpath": ["'$.a[*]'"],
    "regclass": ["'pg_class'"],
}


@pytest.fixture
def replica(databases: Any, tmp_path: Path) -> Replica:
    return Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))


def at(dsn: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(dsn) as connection:
        return connection.execute(query.encode()).fetchall()  # type: ignore[arg-type, unused-ignore]


def same(replica: Replica, query: str) -> None:
    assert at(replica.source, query) == at(replica.target, query)


@pytest.mark.parametrize("databases", [18, 15], indirect=True)
def test_every_built_in_type_byte_for_byte(replica: Replica) -> None:
    names = {f"c{i}": type_ for i, type_ in enumerate(BUILT_IN)}
    replica.at_source(f"create table t (id int primary key, {', '.join(f'{n} {t}' for n, t in names.items())})")
    for row in range(6):
        values = [v[row] if row < len(v) else "null" for v in BUILT_IN.values()]
        replica.at_source(f"insert into t values ({row}, {', '.join(values)})")
    replica.activate()
    for name, type_ in names.items():
        send = at(replica.source, f"select typsend::text from pg_type where oid = '{type_.split('(')[0]}'::regtype")
        same(replica, f"select id, {send[0][0]}({name}) from t order by id")
    replica.check_equal()


def test_users_types(replica: Replica) -> None:
    """Composites, arrays of enums and the like have other oids at the target: they travel as text."""
    replica.at_source(
        "create schema s",
        "create type s.mood as enum ('so so', 'it''s \"bad\"')",
        "create type s.pair as (a int, m s.mood, t text)",
        "create domain s.small as int check (value < 100)",
        "create type s.span as range (subtype = numeric)",
        "create table t (id int primary key, m s.mood, ms s.mood[], p s.pair, ps s.pair[], d s.small, ds s.small[])",
        "alter table t add r s.span",
        """insert into t values
           (1, 'so so', '{so so,"it''s \\"bad\\"",null}', row(1, 'so so', E'a"b\\\\,\\n'),
            array[row(1, null, '')::s.pair], 7, '{1,null}', '[1.5,2]')""",
        "insert into t (id, ms, p) values (2, null, null), (3, '{}', row(null, null, null))",
    )
    replica.activate()
    same(replica, "select t::text, t.p is null, (t.p)::text from t order by id")
    replica.check_equal()


@pytest.mark.parametrize("databases", [18, 15], indirect=True)
def test_kinds_of_tables(replica: Replica) -> None:
    name, column, key = 'We"ird; %s é\\', quote("%(a)s"), quote("é" * 31)
    replica.at_source(
        "create table empty (id int primary key)",
        "create table no_columns ()",
        "create table no_key (a int, b text)",
        "insert into no_key values (1, null), (1, null), (2, 'x')",
        "create table made (id bigint generated always as identity primary key, a int)",
        "alter table made add g int generated always as (a * 2) stored",
        "insert into made (a) select i from generate_series(1, 5) i",
        f"create table {quote(name)} ({column} int, {key} text, primary key ({key}, {column}))",
        f"insert into {quote(name)} values (1, 'a'), (2, '%s')",
        "create table by_index (a int not null, b int)",
        "create unique index on by_index (a)",
        "insert into by_index values (1, 2)",
        "create table parent (id int)",
        "create table child (own int) inherits (parent)",
        "insert into parent values (1)",
        "insert into child values (2, 3)",
        "create table measures (day date, v int, primary key (day, v)) partition by range (day)",
        "create table m1 partition of measures for values from ('2026-01-01') to ('2026-02-01')",
        "create table m2 partition of measures default partition by list (v)",
        "create table m21 partition of m2 for values in (7)",
        "insert into measures values ('2026-01-05', 1), ('2027-01-01', 7)",
    )
    replica.activate()
    replica.check_equal()
    assert at(replica.target, "select * from only parent") == [(1,)]
    same(replica, "select tableoid::regclass::text, day, v from measures order by 2")
    same(replica, "select id, a, g from made order by id")


def test_names_of_the_parts(replica: Replica) -> None:
    """Index, constraint and sequence names are those that a table of that name gets."""
    long, column = "a_very_long_table_name_that_takes_up_nearly_all_of_63_bytes", "an_even_longer_column_name_for_it"
    replica.at_source(
        "create table orders (id bigint generated by default as identity primary key, note text not null)",
        f"create table {long} ({column} bigint generated always as identity primary key)",
        "create table by_index (a int not null, b int not null)",
        "create unique index on by_index (a, b)",
    )
    replica.activate()
    for query in (
        "select relname from pg_class where relkind in ('r', 'i', 'S') and relnamespace = to_regnamespace('public')"
        " order by 1",
        "select conname from pg_constraint where connamespace = 'public'::regnamespace order by 1",
    ):
        same(replica, query)


def test_grants_that_a_schema_gives_by_default(replica: Replica, databases: Any) -> None:
    role = f"reader_{databases.source[-8:]}"
    databases.server.create_role(role)
    try:
        replica.at_target(f"alter default privileges in schema public grant select on tables to {role}")
        replica.at_source("create table t (id int primary key)")
        replica.activate()
        assert at(replica.target, f"select has_table_privilege('{role}', 't', 'select')") == [(True,)]
    finally:
        replica.at_target(f"drop owned by {role}", f"drop role {role}")


def test_a_filled_table_of_somebody_else_is_refused_or_replaced(replica: Replica, tmp_path: Path) -> None:
    replica.at_source("create table t (id int primary key, v text)", "insert into t values (1, 'a')")
    replica.at_target("create table t (id int primary key, w text)", "insert into t values (7, 'mine')")
    with pytest.raises(CannotAdapt) as caught:
        replica.activate()
    assert caught.value.code == "ADP-120" and "existing_tables" in caught.value.hint
    assert at(replica.target, "select * from t") == [(7, "mine")]
    targets = [{"name": "warehouse", "location": replica.target, "existing_tables": "replace"}]
    channel_file(tmp_path, replica.source, replica.target, targets=targets)
    replica.activate()
    replica.check_equal()


def test_an_empty_table_is_used(replica: Replica) -> None:
    replica.at_source("create table t (id int primary key, v text)", "insert into t values (1, 'a')")
    replica.at_target("create table t (id int primary key, v text, w int)", "comment on table t is 'prepared'")
    replica.activate()
    replica.check_equal()
    assert at(replica.target, "select obj_description('t'::regclass)") == [("prepared",)]


def test_loaded_rows_that_take_no_key(replica: Replica, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that is loaded in chunks gets its key afterwards. The target's table stays, and the next run loads it."""
    monkeypatch.setattr(chunks, "MINIMUM_BYTES", 8192)
    replica.at_source("create table t (id int primary key, x text)", "insert into t values (1)")
    replica.activate()
    replica.at_source("insert into t select i, repeat('x', 1000) from generate_series(2, 100) i")
    replica.at_target(
        "create function refuse() returns event_trigger language plpgsql as"
        " $$ begin if current_query() like '%PRIMARY KEY%' then raise 'not on Fridays'; end if; end $$",
        "create event trigger fridays on ddl_command_start when tag in ('ALTER TABLE') execute function refuse()",
    )
    with pytest.raises(TargetError, match=r"TGT-121: .*not on Fridays") as caught:
        replica.refresh("public.t")
        replica.replicate()
    assert caught.value.retryable and caught.value.table == "public.t"
    assert replica.rows("select id from t") == [(1,)]
    replica.at_target("drop event trigger fridays")
    replica.settle()
