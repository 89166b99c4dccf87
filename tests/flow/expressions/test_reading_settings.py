"""What a role, a database or a server says of how statements are read changes no expression and no row."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Databases
from tests.support.replica import BOTH, Replica, channel_file

ODD = {
    "standard_conforming_strings": "off",
    "escape_string_warning": "off",
    "backslash_quote": "on",
    "transform_null_equals": "on",
    "array_nulls": "off",
    "quote_all_identifiers": "on",
    "datestyle": "German, DMY",
    "intervalstyle": "sql_standard",
    "timezone": "Pacific/Chatham",
    "timezone_abbreviations": "Australia",
    "extra_float_digits": "-5",
    "bytea_output": "escape",
    "xmlbinary": "hex",
    "xmloption": "document",
    "lc_monetary": "C",
    "lc_numeric": "C",
    "row_security": "on",
    "default_transaction_isolation": "serializable",
    "search_path": "odd, public",
    "exit_on_error": "off",
    "check_function_bodies": "off",
}
TABLE = """
create table public.t (
    id int primary key,
    path text default E'C:\\\\temp\\\\new' check (path <> E'\\\\'),
    note text default E'it''s \\\\ and \\'quoted\\'',
    computed text generated always as (path || E'\\\\' || note) stored,
    span interval default '-1 mons +3 days -02:00:00',
    day timestamptz default '2020-05-06 07:08:09+00',
    list text[] default array[null, 'NULL', E'a\\\\b'],
    raw bytea default '\\\\x00ff'::bytea,
    price money default '1234.50',
    real_ double precision default 0.1::double precision / 3,
    mood public.mood default E'so\\\\so',
    sure public.sure default E'x\\\\y')
"""


@BOTH
def test_settings_of_both_ends_change_nothing(databases: Databases, tmp_path: Path) -> None:
    for dsn in (databases.source, databases.target):
        name = dsn.rsplit("/", 1)[1].split("?")[0]
        replica = Replica(dsn, dsn, tmp_path)
        replica.at_source(
            *(
                f"alter database {name} set {setting} = {value}"
                if setting in ("search_path", "datestyle")
                else f"alter database {name} set {setting} = '{value}'"
                for setting, value in ODD.items()
            )
        )
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.at_source(
        "create type public.mood as enum (E'so\\\\so', 'good')",
        "create domain public.sure as text check (value like E'x%' and value <> E'\\\\z')",
        TABLE,
        "insert into public.t (id) values (1)",
        "create table public.p (k text not null, v int) partition by list (k)",
        "create table public.p1 partition of public.p for values in (E'a\\\\b')",
        "insert into public.p values (E'a\\\\b', 1)",
    )
    replica.activate()
    replica.check_equal()
    replica.at_source(
        "insert into public.t (id) values (2)",
        "alter table public.t add late text not null default E'one\\\\two'",
        "alter table public.t alter path set default E'D:\\\\'",
        "create table public.p2 partition of public.p for values in (E'c\\\\d')",
        "insert into public.p values (E'c\\\\d', 2)",
        "insert into public.t (id) values (3)",
    )
    replica.settle()
    stands = "select attname::text, pg_get_expr(adbin, adrelid) from pg_attrdef join pg_attribute on attrelid = adrelid"
    stands += " and attnum = adnum where attrelid = 'public.t'::regclass order by 1"
    there = Replica(databases.source, databases.source, tmp_path)
    assert replica.rows(stands) == there.rows(stands)
    at_target = replica.rows("select computed, path from public.t where id = 3")
    assert at_target == there.rows("select computed, path from public.t where id = 3")
