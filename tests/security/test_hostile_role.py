"""Somebody with few rights at the source can't gain any through us, and can't make us change a target."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.errors import DdlReplError, SourceError, TargetError
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.repository.repository import Repository
from tests.conftest import Databases
from tests.support.hostile import TRAPS, traps
from tests.support.replica import Replica, channel_file, run

VICTIM = (
    "create table public.victim (id int primary key, secret text)",
    "insert into public.victim values (1, 'one'), (2, 'two')",
)


@dataclass
class Hostile:
    """A role that may log in, create in schema public and make temporary tables, as the old default was."""

    name: str
    dsn: str
    superuser: str

    def does(self, *statements: str) -> None:
        run(self.dsn, *statements)

    def refused(self, *statements: str) -> None:
        """None of them works."""
        for statement in statements:
            with pytest.raises(psycopg.Error):
                self.does(statement)

    def has_gained_nothing(self) -> None:
        with psycopg.connect(self.superuser, options="-c search_path=pg_catalog") as connection:
            row = connection.execute("select rolsuper from pg_roles where rolname = %s", [self.name]).fetchone()
            assert row == (False,)
            sprung = connection.execute("select to_regclass('public.sprung') is not null").fetchone()
            if sprung == (True,):
                found = connection.execute("select last_value, is_called from public.sprung").fetchone()
                assert found == (1, False), "a function of the hostile role's ran with another's rights"


@pytest.fixture
def hostile(databases: Databases) -> Iterator[Hostile]:
    database = databases.source.rsplit("/", 1)[1]
    name = f"hostile_{database}"
    databases.server.create_role(name)
    run(databases.source, f'grant create on schema public to "{name}"')
    yield Hostile(name, databases.server.dsn(database, name), databases.source)
    run(databases.source, f'drop owned by "{name}" cascade', f'drop role "{name}"')


@pytest.fixture
def replica(databases: Databases, tmp_path: Path) -> Replica:
    made = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    made.at_source(*VICTIM)
    return made


def forged(replica: Replica, **said: Any) -> str:
    """A message as our triggers write it, but for the signature: the victim without its column `secret`."""
    with Repository.open(f"sqlite:///{replica.file.parent}/repository.db") as repository:
        (table,) = (r.table for r in repository.revisions("shop") if r.table and r.table.name.name == "victim")
    shape = table.to_json()
    shape["columns"] = shape["columns"][:1]
    message = {"v": 1, "kind": "ddl", "tag": "ALTER TABLE", "statement": None, "query": None, "settings": {}}
    return json.dumps(message | {"tables": [shape], "dropped": [], "rewritten": [], "filled": []} | said)


def emit(text: str) -> str:
    return f"select pg_logical_emit_message(true, 'ddlrepl', $forged${text}$forged$)"


@pytest.mark.parametrize("ddl", ["auto", "relations"])
def test_a_forged_schema_change_is_not_believed(
    databases: Databases, tmp_path: Path, hostile: Hostile, ddl: str
) -> None:
    file = channel_file(tmp_path, databases.source, databases.target, source={"ddl": ddl})
    replica = Replica(databases.source, databases.target, file)
    replica.at_source(*VICTIM)
    replica.activate()
    ((number,),) = replica.rows("select table_id from ddlrepl.tables where table_name = 'victim'")
    before = replica.rows("select attnum, attname, atttypid from pg_attribute where attrelid = 'victim'::regclass")
    hostile.does(
        emit(forged(replica)),
        emit(forged(replica, xid="1", signature="0" * 64)),
        emit(forged(replica, tables=[], dropped=[[number, ["public", "victim"]]])),
        emit(forged(replica, tables=[], rewritten=[number], filled=[number])),
        emit('{"v":1,"kind":"gap","statement":"x"}'),
        emit("not json at all"),
    )
    replica.at_source("update public.victim set secret = 'changed' where id = 1")
    result = replica.settle()
    assert not result.refresh.tables and not result.adapt.statements
    now = replica.rows("select attnum, attname, atttypid from pg_attribute where attrelid = 'victim'::regclass")
    assert now == before, "no column was dropped and added again"
    with Repository.open(f"sqlite:///{tmp_path}/repository.db") as repository:
        assert [r.number for r in repository.revisions("shop")] == [0]
    lines = [line for file in tmp_path.rglob("*.jsonl") for line in file.read_text().splitlines()]
    events = [Event.from_json(json.loads(line)) for line in lines]
    assert [e.kind for e in events if "forged" in (e.statement or "")] == [EventKind.GAP] * 4
    hostile.has_gained_nothing()


def test_a_genuine_message_can_not_be_written_once_more(replica: Replica, hostile: Hostile) -> None:
    replica.activate()
    replica.at_source("alter table public.victim add column n int default 7")
    with psycopg.connect(replica.source) as connection:
        found = connection.execute(
            "select data from pg_logical_slot_peek_binary_changes('ddlrepl_shop', null, null, 'proto_version', '1',"
            " 'publication_names', 'ddlrepl_shop', 'messages', 'true') where get_byte(data, 0) = ascii('M')"
        ).fetchall()
    ((message,),) = found
    content = bytes(message)[bytes(message).index(b'{"') :]
    assert b'"signature":"' in content
    replica.settle()
    replica.at_source("alter table public.victim drop column n")
    replica.settle()
    hostile.does(emit(content.decode()))
    replica.at_source("update public.victim set secret = 'changed' where id = 1")
    assert not replica.settle().adapt.statements
    assert replica.rows("select * from victim where id = 1") == [(1, "changed")]


def test_functions_and_operators_of_a_built_ins_name_are_never_run(
    databases: Databases, replica: Replica, hostile: Hostile
) -> None:
    """Not by the event triggers, which the hostile role sets off, and not by our own sessions, either."""
    database = databases.source.rsplit("/", 1)[1]
    hostile.does(*traps(hostile.name))
    replica.at_source(f'alter database "{database}" set search_path = public, pg_catalog')
    replica.activate()
    hostile.does(
        "create table public.mine (id int primary key, v text)",
        "insert into public.mine values (1, 'a')",
        "alter table public.mine add column m public.mood default 'good'",
        "create table public.keyless (v text, m public.mood)",
        "insert into public.keyless values ('x', 'good')",
        "alter table public.keyless add primary key (v)",
        "alter table public.keyless drop constraint keyless_pkey",
        "create unlogged table public.sly (id int)",
        "insert into public.sly values (1)",
        "create index on public.sly ((public.trap(1)))",
        "alter table public.sly set logged",
        "update public.mine set v = 'b'",
        "create table public.gone (id int); drop table public.gone",
    )
    assert len(TRAPS) > 40
    replica.at_source("alter table public.victim add column n pg_catalog.int4")
    # What reads the rows of a table plans a query over its indexes: `sly` is for a small role to read.
    replica.at_source("drop table public.sly")
    hostile.has_gained_nothing()
    result = replica.settle()
    assert "public.mine" not in result.refresh.tables
    hostile.does("drop table public.mine, public.keyless")
    replica.settle()
    hostile.has_gained_nothing()
    run(databases.source, "select lower('X')")
    with pytest.raises(AssertionError, match="another's rights"):
        hostile.has_gained_nothing()


def test_settings_of_the_session_do_no_harm(replica: Replica, hostile: Hostile) -> None:
    replica.activate()
    hostile.does("create table public.mine (id int primary key, v text)")
    for setting in (
        "ddlrepl.rewritten = 'x; drop table victim'",
        "ddlrepl.rewritten = '1 2 99999999999'",
        "ddlrepl.tag = $t$'); drop table victim; --$t$",
        "standard_conforming_strings = off",
        "quote_all_identifiers = on",
        "search_path = ''",
        'search_path = pg_temp, "; drop table victim; --"',
        "client_encoding = latin1",
        "datestyle = 'german'",
        "array_nulls = off",
        "transform_null_equals = on",
        "default_transaction_isolation = 'serializable'",
        "row_security = off",
    ):
        with psycopg.connect(hostile.dsn, autocommit=True) as connection:
            connection.execute(f"set {setting}")
            connection.execute("alter table public.mine add column c int default 3")
            connection.execute("insert into public.mine select coalesce(max(id), 0) + 1, 'a' from public.mine")
            connection.execute("alter table public.mine drop column c")
    replica.settle()
    hostile.has_gained_nothing()


def test_our_schema_is_closed_to_others(replica: Replica, hostile: Hostile) -> None:
    replica.activate()
    hostile.refused(
        "select * from ddlrepl.signature",
        "select * from ddlrepl.member",
        "insert into ddlrepl.channel values ('x', 'x', null, 'x', null, '{}', 'full')",
        "update ddlrepl.member set state = 'left out'",
        "delete from ddlrepl.member",
        "select ddlrepl.signed('{}')",
        "select ddlrepl.tend('shop', 1)",
        "select ddlrepl.record('', '', '', '{}', '{}', '[]')",
        "create function ddlrepl.matches(jsonb, name, name) returns boolean language sql as 'select true'",
        "create table ddlrepl.mine (i int)",
        "select nextval('ddlrepl.fence')",
        "alter publication ddlrepl_shop drop table public.victim",
        "drop event trigger ddlrepl_sql_drop",
        "drop schema ddlrepl cascade",
    )
    hostile.has_gained_nothing()


def test_a_schema_that_somebody_made_before_is_not_used(
    databases: Databases, replica: Replica, hostile: Hostile
) -> None:
    """Its owner could replace our functions, which run with the activating role's rights."""
    database = databases.source.rsplit("/", 1)[1]
    replica.at_source(f'grant create on database "{database}" to "{hostile.name}"')
    hostile.does(
        "create schema ddlrepl",
        "create sequence public.sprung; grant all on sequence public.sprung to public",
        "create table ddlrepl.channel (name text)",
        "create function ddlrepl.trap() returns trigger language plpgsql as"
        " $$begin perform pg_catalog.nextval('public.sprung'); return new; end$$",
        "create trigger t before insert on ddlrepl.channel execute function ddlrepl.trap()",
    )
    with pytest.raises(SourceError, match="SRC-121") as caught:
        replica.activate()
    assert hostile.name in caught.value.message and "DROP SCHEMA" in caught.value.hint
    hostile.has_gained_nothing()
    replica.at_source("drop schema ddlrepl cascade")
    replica.activate()
    replica.settle()


def test_nor_at_a_target(databases: Databases, replica: Replica) -> None:
    database = databases.target.rsplit("/", 1)[1]
    name = f"planter_{database}"
    databases.server.create_role(name)
    replica.at_target(f'grant create on database "{database}" to "{name}"')
    run(databases.server.dsn(database, name), "create schema ddlrepl")
    with pytest.raises(TargetError, match="TGT-104"):
        replica.activate()
    replica.at_target(f'drop owned by "{name}"', f'drop role "{name}"')
    replica.activate()
    replica.settle()


def test_statements_lose_their_passwords_however_they_are_written(replica: Replica, hostile: Hostile) -> None:
    replica.activate()
    said = (
        "password 'marker-geheim'",
        "password E'a\\'marker-geheim'",
        "password $$marker-geheim$$",
        "password $q$marker-geheim$q$",
        "PassWord    U&'marker-geheim'",
    )
    for number, spelled in enumerate(said):
        for strings in ("on", "off"):
            create = f"create role r{number}_{strings}_{hostile.name} {spelled}"
            drop = f"drop role r{number}_{strings}_{hostile.name}"
            alter = f"alter table public.victim add column c{number}_{strings} int"
            prefix = f"set standard_conforming_strings = {strings};"
            if strings == "off" and "U&" in spelled:
                continue
            with psycopg.connect(replica.source, autocommit=True) as connection:
                connection.execute(prefix)
                connection.execute(f"{create}; {alter}; {drop}")
    with psycopg.connect(replica.source, autocommit=True) as connection:
        connection.execute(
            "do $do$ begin perform 'host=x password=marker-geheim dbname=y', 'postgresql://u:marker-geheim@h/d';"
            " execute 'alter table public.victim add column last int'; end $do$"
        )
    replica.settle()
    assert replica.rows("select count(*) from pg_attribute where attrelid = 'victim'::regclass and attnum > 2") == [
        (10,)
    ]
    files = [file for file in replica.file.parent.rglob("*") if file.is_file()]
    assert [file for file in files if b"marker-geheim" in file.read_bytes()] == []


def test_the_reading_role_checks_signatures_without_the_key(
    databases: Databases, replica: Replica, hostile: Hostile
) -> None:
    """Whoever runs code with the reader's rights can't sign, whatever tables the reader may read."""
    replica.activate()
    database = databases.source.rsplit("/", 1)[1]
    name = f"reader_{database}"
    databases.server.create_role(name, "LOGIN REPLICATION")
    replica.at_source(
        f'grant pg_read_all_data to "{name}"',
        f'grant select on all tables in schema public, ddlrepl to "{name}"',
        "insert into public.victim values (3, 'three')",
    )
    reader = databases.server.dsn(database, name)
    file = replica.file
    file.write_text(file.read_text().replace(databases.source, reader))
    with psycopg.connect(reader) as connection:
        assert connection.execute("select * from ddlrepl.signature").fetchall() == []
    replica.at_source("alter table public.victim add column n int default 7")
    hostile.does(emit(forged(replica)))
    replica.settle()
    assert replica.rows("select n from victim where id = 3") == [(7,)]
    with Repository.open(f"sqlite:///{replica.file.parent}/repository.db") as repository:
        assert [r.number for r in repository.revisions("shop")] == [0, 1], "from the signed record alone"
    run(databases.source, "revoke execute on function ddlrepl.verified from public")
    replica.at_source("insert into public.victim values (4, 'four')")
    with pytest.raises(DdlReplError, match="SRC-144") as caught:
        replica.replicate()
    assert "USAGE ON SCHEMA ddlrepl" in caught.value.hint
    run(databases.source, f'drop owned by "{name}"', f'drop role "{name}"')


def test_an_activation_takes_the_key_from_roles_that_could_read_it(databases: Databases, replica: Replica) -> None:
    replica.activate()
    database = databases.source.rsplit("/", 1)[1]
    name = f"older_{database}"
    databases.server.create_role(name, "LOGIN REPLICATION")
    replica.at_source(
        "alter table ddlrepl.signature disable row level security",
        f'grant usage on schema ddlrepl to "{name}"; grant select on ddlrepl.signature to "{name}"',
        "comment on schema ddlrepl is 'airflow-ddlrepl helper of an earlier version'",
    )
    with psycopg.connect(databases.server.dsn(database, name), autocommit=True) as connection:
        assert len(connection.execute("select * from ddlrepl.signature").fetchall()) == 1
        replica.activate()
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("select * from ddlrepl.signature")
    run(databases.source, f'drop owned by "{name}"', f'drop role "{name}"')
