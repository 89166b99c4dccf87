"""Names and texts that would be SQL if anybody forgot to quote them, through every statement that we make."""

from __future__ import annotations

from pathlib import Path

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, quote
from airflow_ddlrepl.ports.work import InProcess
from tests.conftest import Databases
from tests.support.replica import Replica, channel_file

NAMES = (
    '"; DROP TABLE victim; --',
    "'; DROP TABLE victim; --",
    "$$; DROP TABLE victim; $$",
    "%s %(x)s %",
    "back\\slash\\",
    "quo''te'",
    'dou""ble"',
    "new\nline; DROP TABLE victim;",
    "ä" * 31 + "x",
    "{0} {name} {{",
    "E'\\'); DROP TABLE victim; --",
    "*/ DROP TABLE victim; /*",
    "select",
    "a.b",
    " $1 ",
    "tab\tand\x01more",
)
BUSY = NAMES[::4]
VICTIM = ("create table public.victim (id int primary key)", "insert into public.victim values (1), (2)")


def other(name: str, step: int = 1) -> str:
    return NAMES[(NAMES.index(name) + step) % len(NAMES)]


def q(name: str) -> str:
    return quote(name)


def text(value: str) -> str:
    return literal(value).strip()


def short(name: str, suffix: str = "") -> str:
    """Room for a suffix within 63 bytes."""
    return name[:20] + suffix


def test_hostile_names_and_texts(databases: Databases, tmp_path: Path) -> None:
    target = {"name": "warehouse", "location": databases.target, "schemas": {NAMES[0]: NAMES[1], NAMES[3]: NAMES[3]}}
    file = channel_file(tmp_path, databases.source, databases.target, targets=[target])
    replica = Replica(databases.source, databases.target, file)
    schema = q(NAMES[0])
    replica.at_source(*VICTIM, f"create schema {schema}", f"create schema {q(NAMES[3])}")
    for name in NAMES:
        replica.at_source(f"create table {q(NAMES[3])}.{q(short(name, '.'))} ({q(name)} text primary key)")
        replica.at_source(f"insert into {q(NAMES[3])}.{q(short(name, '.'))} values ({text(name)})")
    for name in BUSY:
        replica.at_source(*created(schema, name))
    replica.activate()
    for name in BUSY:
        replica.at_source(*changed(schema, name))
    assert "DROP TABLE victim" in replica.plan().text()
    replica.settle()
    for name in BUSY:
        replica.at_source(*changed_more(schema, name))
    for name in NAMES:
        replica.at_source(f"update {q(NAMES[3])}.{q(short(name, '.'))} set {q(name)} = {text(other(name))}")
    replica.settle()
    with flow.open_channel(file, InProcess()) as run:
        flow.refresh(run, ["*.*"])
    replica.check_equal()
    for name in BUSY:
        replica.at_source(f"drop table {schema}.{q(name)}", f"truncate {q(NAMES[3])}.{q(name)}")
    replica.settle()
    assert replica.rows("select id from public.victim order by id") == [(1,), (2,)]
    with flow.open_channel(file, InProcess()) as run:
        assert "victim" in str(flow.status(run).to_json())
        flow.deactivate(run)


def created(schema: str, name: str) -> list[str]:
    """A table with a key, one without, types, labels, a partitioned table."""
    label, second = text(name), text(other(name, 2))
    kind, domain, pair = q(short(name, "!")), q(short(name, "?")), q(short(name, "&"))
    return [
        f"create type {schema}.{kind} as enum ({label}, {second})",
        f"create domain {schema}.{domain} as text constraint {q(name)} check (value <> {text(name * 2)})",
        f"create type {schema}.{pair} as ({q(name)} int, {q(other(name))} text)",
        f"create table {schema}.{q(name)} ({q(name)} int constraint {q(short(name, '#'))} primary key,"
        f" {q(other(name))} text default {label}, {q(other(name, 2))} {schema}.{kind} default {second},"
        f" {q(other(name, 3))} {schema}.{domain})",
        f"comment on column {schema}.{q(name)}.{q(name)} is {label}",
        f"create index {q(short(name, '~'))} on {schema}.{q(name)} ({q(other(name))})",
        f"insert into {schema}.{q(name)} values (1, {label}, {label}, {second}), (2, {second}, {second}, null)",
        f"create table {q(NAMES[3])}.{q(name)} ({q(name)} text, {q(other(name))} {schema}.{pair})",
        f"insert into {q(NAMES[3])}.{q(name)} values ({label}, (1, {second})), ({label}, (1, {second})), (null, null)",
    ]


def changed(schema: str, name: str) -> list[str]:
    """Adds, renames, other types, rows by key and by image."""
    table, loose = f"{schema}.{q(name)}", f"{q(NAMES[3])}.{q(name)}"
    label, kind = text(name), q(short(name, "!"))
    return [
        f"alter type {schema}.{kind} add value {text(short(name, '+'))} before {label}",
        f"alter table {table} add column {q(other(name, 4))} text not null default {text(other(name, 5))}",
        f"update {table} set {q(other(name, 4))} = {label}, {q(other(name, 2))} = {text(short(name, '+'))}"
        f" where {q(name)} = 1",
        f"alter table {table} rename column {q(other(name))} to {q(short(other(name), '>'))}",
        f"insert into {table} ({q(name)}, {q(short(other(name), '>'))}) values (3, {label})",
        f"alter table {table} alter column {q(other(name, 3))} type varchar(200) using {q(other(name, 3))} || {label}",
        f"delete from {loose} where ctid = (select min(ctid) from {loose})",
        f"alter table {loose} add column {q(other(name, 7))} numeric default 1.50",
        f"update {loose} set {q(name)} = {text(other(name))} where {q(name)} is null",
    ]


def changed_more(schema: str, name: str) -> list[str]:
    """Renames of constraints, indexes, types, labels; another key; a table that takes the place of another name."""
    table = f"{schema}.{q(name)}"
    kind = f"{schema}.{q(short(name, '!'))}"
    return [
        f"alter table {table} rename constraint {q(short(name, '#'))} to {q(short(other(name), '#2'))}",
        f"alter index {schema}.{q(short(name, '~'))} rename to {q(short(other(name), '~2'))}",
        f"alter type {kind} rename value {text(other(name, 2))} to {text(short(name, '='))}",
        f"alter table {table} alter column {q(short(other(name), '>'))} set default {text(name * 3)}",
        f"insert into {table} ({q(name)}) values (4)",
        f"alter table {table} drop constraint {q(short(other(name), '#2'))}",
        f"alter table {table} add constraint {q(short(name, '#3'))} primary key ({q(name)}, {q(other(name, 4))})",
        f"update {table} set {q(name)} = 40 where {q(name)} = 4",
        f"delete from {table} where {q(name)} = 2",
        f"alter table {table} drop column {q(other(name, 3))}",
    ]


def test_a_long_name_moves_to_a_schema_where_its_index_is_taken(databases: Databases, tmp_path: Path) -> None:
    """Two bytes a letter: cut by letters the index would keep its name."""
    name, index = q("ы" * 31 + "x"), q("ы" * 29 + "_pkey")
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    made = (f"create table {schema}.{name} (id int primary key)" for schema in "ab")
    replica.at_source("create schema a", "create schema b", *made)
    replica.activate()
    replica.at_source(f"alter index a.{index} rename to other", f"alter table a.{name} rename to t")
    replica.at_source("alter table a.t set schema b", "insert into b.t values (1)")
    replica.settle()
