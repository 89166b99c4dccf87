"""A window of a real server's log: split anywhere it gives what one read gives."""

from __future__ import annotations

import json
import pickle
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from airflow_ddlrepl.capture.write_range import write_range
from airflow_ddlrepl.engines.postgres.connection.first_row import over
from airflow_ddlrepl.engines.postgres.log import preconditions
from airflow_ddlrepl.engines.postgres.log.read_range import PostgresRange, Reader, choose_reader
from airflow_ddlrepl.engines.postgres.pgoutput.relation_layout import NeedsText
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.model.change import Op
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Identity
from airflow_ddlrepl.trail.store import Trail
from tests.support.captured_log import END, START, Content, Source

VERSIONS = pytest.mark.parametrize("databases", [18, 15], indirect=True)


@pytest.fixture
def source(databases: Any, tmp_path: Path) -> Iterator[Source]:
    one = Source(databases.source, tmp_path)
    yield one
    one.sql.execute(
        "select pg_terminate_backend(active_pid) from pg_replication_slots where slot_name = %s", [one.slot]
    )
    while one.is_read():
        time.sleep(0.05)
    one.sql.execute(f"select pg_drop_replication_slot('{one.slot}')")
    one.sql.close()


def busy(source: Source, seed: int, transactions: int = 60) -> None:
    """Several sessions at once: rows, rollbacks, savepoints, DDL, truncates, messages."""
    dice = random.Random(seed)
    for name in ("a", "b", "c"):
        source.sql.execute(f"create table {name} (id int primary key, x text)")
    sessions = [psycopg.connect(source.dsn) for _ in range(4)]
    added = 0
    for number in range(transactions):
        session = dice.choice(sessions)
        for _ in range(dice.randint(1, 6)):
            table, own = dice.choice("ab"), sessions.index(session)
            key = own * 1_000_000 + number * 100 + dice.randint(0, 99)
            session.execute(f"insert into {table} (id, x) values ({key}, 'v') on conflict (id) do update set x = 'w'")
            if dice.random() < 0.2:
                session.execute("savepoint s")
                session.execute(f"delete from {table} where id = {key}")
                session.execute("rollback to s" if dice.random() < 0.5 else "release s")
        if dice.random() < 0.15:
            session.execute("select pg_logical_emit_message(true, 'app', 'm')")
        if dice.random() < 0.1:
            session.execute("select pg_logical_emit_message(false, 'app', 'loose')")
        session.commit() if dice.random() < 0.7 else session.rollback() if dice.random() < 0.3 else None
        if dice.random() < 0.15:
            added += 1
            source.sql.execute(f"alter table c add column n{added} int default {added}")
            source.sql.execute(f"insert into c (id) values ({added})")
        if dice.random() < 0.05:
            source.sql.execute("truncate c")
    for session in sessions:
        session.commit()
        session.close()


@VERSIONS
def test_any_split_gives_what_one_read_gives(source: Source) -> None:
    seed = random.randrange(1 << 30)
    busy(source, seed)
    high = source.now()
    whole = source.capture(high=high)
    commits = [t["lsn"] for t in whole.transactions]
    dice = random.Random(seed)
    for _ in range(6):
        near = [Position(lsn + step) for lsn in dice.sample(commits, 2) for step in (dice.choice((-1, 0, 1)),)]
        cuts = sorted({source.low, high, *near, Position(dice.randrange(source.low, high))})
        tasks = [
            source.task(low, up, index=index, count=len(cuts) - 1, window_low=source.low)
            for index, (low, up) in enumerate(pairwise(cuts))
        ]
        parts = [write_range(pickle.loads(pickle.dumps(task))) for task in tasks]
        assert Content(source, parts).everything() == whole.everything(), f"seed {seed}, cuts {cuts}"
    assert whole.rows["a"] and whole.rows["c"] and whole.events


@VERSIONS
def test_rows_updates_of_keys_and_deletes(source: Source) -> None:
    source.sql.execute("create table t (id int primary key, x text)")
    source.sql.execute("insert into t values (1, 'a'), (2, null)")
    source.sql.execute("update t set x = 'b' where id = 1")
    source.sql.execute("update t set id = 3 where id = 1")
    source.sql.execute("delete from t where id = 2")
    found = source.capture()
    shown = [(Op(r["op"]).name, r["before"], r["a_id"], r["a_x"], r["b_id"]) for r in found.rows["t"]]
    assert shown == [
        ("INSERT", 0, 1, "a", None),
        ("INSERT", 0, 2, None, None),
        ("UPDATE", 0, 1, "b", None),
        ("UPDATE", 1, 3, "b", 1),
        ("DELETE", 1, None, None, 2),
    ]
    (file,) = found.files
    assert (file.inserts, file.updates, file.deletes, file.key_updates, file.absent) == (2, 2, 1, 1, 0)
    assert "b_x" not in found.rows["t"][0]


@VERSIONS
@pytest.mark.parametrize("wire_format", ["binary", "text"])
def test_a_big_value_that_an_update_does_not_touch_is_absent_or_filled(source: Source, wire_format: str) -> None:
    big = "".join(random.Random(1).choices("abcdefghij", k=20_000))
    for name in ("t", "f"):
        source.sql.execute(f"create table {name} (id int primary key, x int, doc text, more jsonb)")
        source.sql.execute(f"alter table {name} alter doc set storage external")
    source.sql.execute("alter table f replica identity full")
    for name in ("t", "f"):
        source.sql.execute(f"insert into {name} values (1, 1, '{big}', '{{}}'), (2, 1, 'small', null)")
        source.sql.execute(f"update {name} set x = 2")
    found = source.capture(wire_format=wire_format)
    updates = {name: [r for r in rows if r["op"] == Op.UPDATE] for name, rows in found.rows.items()}
    assert [(r["absent"], r["a_doc"]) for r in updates["t"]] == [(b"\x04", None), (None, "small")]
    assert [(r["absent"], r["a_doc"], r["b_doc"], r["b_x"]) for r in updates["f"]] == [
        (None, big, big, 1),
        (None, "small", "small", 1),
    ]
    assert {file.name: (file.absent, file.identity) for file in found.files} == {
        "t": (1, Identity.DEFAULT),
        "f": (0, Identity.FULL),
    }


def test_truncates_and_messages_stand_in_order(source: Source) -> None:
    source.sql.execute("create table t (id int primary key)")
    source.sql.execute("create table ref (id int references t)")
    source.sql.execute("create schema ddlrepl")
    source.sql.execute("create table ddlrepl.own (id int primary key)")
    with source.sql.transaction():
        source.sql.execute("insert into t values (1)")
        source.sql.execute("insert into ddlrepl.own values (1)")
        source.sql.execute("select pg_logical_emit_message(true, 'app', '\\x00ff'::bytea)")
        source.sql.execute("truncate t restart identity cascade")
        source.sql.execute("insert into t values (2)")
        source.sql.execute("select pg_logical_emit_message(true, 'ddlrepl', %s)", [json.dumps({"v": 1, "kind": "gap"})])
    source.sql.execute("select pg_logical_emit_message(false, 'ddlrepl.heartbeat', '')")
    found = source.capture()
    assert set(found.rows) == {"t"}
    order = [(e.key.seq, str(e.kind)) for e in found.events] + [(r["seq"], "row") for r in found.rows["t"]]
    assert [kind for _, kind in sorted(order)] == ["row", "truncate", "row", "gap"]
    truncate, _ = found.events
    assert truncate.key.seq == 3, "the message counts, though no client takes it"
    assert {name.name for _, name in truncate.dropped} == {"t", "ref"}
    assert truncate.settings == {"cascade": True, "restart_identity": True}
    assert found.transactions[-1]["changes"] == 2


def test_a_table_that_changes_inside_one_transaction(source: Source) -> None:
    name = 'we"ird; % ñ'
    quoted = '"we""ird; %% ñ"'
    with source.sql.transaction():
        source.sql.execute(f'create table {quoted} (id int primary key, "a.b" int, "lsn" text)', [])
        source.sql.execute(f"insert into {quoted} values (1, 1, 'x')", [])
        source.sql.execute(f'alter table {quoted} rename "a.b" to "b c"', [])
        source.sql.execute(f"insert into {quoted} values (2, 2, 'y')", [])
        source.sql.execute(f'alter table {quoted} drop "b c", add z numeric default 7', [])
        source.sql.execute(f"insert into {quoted} values (3, 'z')", [])
    found = source.capture(wire_format="text")
    assert [[c.name for c in file.columns] for file in found.files] == [
        ["id", "a.b", "lsn"],
        ["id", "b c", "lsn"],
        ["id", "lsn", "z"],
    ]
    assert {file.name for file in found.files} == {name}
    assert [r["a_lsn"] for r in found.rows[name]] == ["x", "y", "z"]
    assert found.rows[name][2]["a_z"] == "7"
    trail = Trail(source.folder.as_uri(), "shop")
    assert trail.rows(found.files[0], START, END, ["a_a.b"]).to_pydict() == {"a_a.b": [1]}


def test_user_defined_types_travel_in_the_right_format(source: Source) -> None:
    source.sql.execute("create type mood as enum ('sad', 'glad')")
    source.sql.execute("create domain price as numeric(10,2)")
    source.sql.execute("create table m (id int primary key, mood mood, price price)")
    source.sql.execute("insert into m values (1, 'glad', 1.5)")
    oids: dict[str, int] = dict(
        source.sql.execute("select typname, oid::int from pg_type where typname in ('mood', 'price')").fetchall()
    )
    with pytest.raises(NeedsText) as caught:
        source.capture()
    assert caught.value.code == "SRC-150" and caught.value.table == "public.m"
    assert not list(source.folder.rglob("*.parquet"))
    found = source.capture(types=((oids["mood"], 25), (oids["price"], 1700)))
    assert found.rows["m"][0]["a_mood"] == "glad"
    assert [c.encoding for c in found.files[0].columns] == ["native", "native", "binary"]
    source.sql.execute("create type pair as (a int, b text)")
    source.sql.execute("create table p (id int primary key, pair pair, pairs pair[], moods mood[], class regclass)")
    source.sql.execute("insert into p values (1, (1, 'x,y'), array[(2, null)::pair], '{sad}', 'm')")
    with pytest.raises(NeedsText):
        source.capture(types=((oids["mood"], 25), (oids["price"], 1700)))
    (row,) = source.capture(wire_format="text").rows["p"]
    told = [row[f"a_{c}"] for c in ("pair", "pairs", "moods", "class")]
    assert told == ['(1,"x,y")', '{"(2,)"}', "{sad}", "public.m"]


def test_origins_are_told(source: Source) -> None:
    source.sql.execute("create table t (id int primary key)")
    origin = f"origin_{source.slot}"
    source.sql.execute("select pg_replication_origin_create(%s)", [origin])
    with psycopg.connect(source.dsn) as session:
        session.execute("select pg_replication_origin_session_setup(%s)", [origin])
        session.execute("insert into t values (1)")
        session.commit()
    source.sql.execute("insert into t values (2)")
    assert [t["origin"] for t in source.capture().transactions] == [origin, ""]
    source.sql.execute("select pg_replication_origin_drop(%s)", [origin])


def test_a_latin1_database_is_read_as_text(databases: Any, tmp_path: Path) -> None:
    with psycopg.connect(databases.source, autocommit=True) as admin:
        admin.execute("create database latin template template0 encoding 'LATIN1' locale 'C'")
    one = Source(databases.source.rsplit("/", 1)[0] + "/latin?application_name=x_latin1", tmp_path)
    one.sql.execute('create table t (id int primary key, "größe" text)')
    one.sql.execute("insert into t values (1, 'é')")
    statement = json.dumps({"v": 1, "kind": "gap", "statement": "é"}, ensure_ascii=False)
    one.sql.execute("select pg_logical_emit_message(true, 'ddlrepl', %s)", [statement])
    found = one.capture()
    one.sql.execute(f"select pg_drop_replication_slot('{one.slot}')")
    one.sql.close()
    assert found.rows["t"][0]["a_größe"] == "é" and found.events[0].statement == "é"


WRONG = [
    ("slot", "gone", "SRC-102"),
    ("slot", "of_another", "SRC-107"),
    ("publication", "gone", "SRC-104"),
    ("publication", "incomplete", "SRC-108"),
    ("low", Position(1), "SRC-141"),
]


@pytest.mark.parametrize(("what", "wrong", "code"), WRONG)
def test_a_task_refuses_with_the_words_of_the_run(source: Source, what: str, wrong: Any, code: str) -> None:
    """The run asks over psycopg before it reads, and the task over the Arrow driver when it does."""
    source.sql.execute("create table t (id int primary key)")
    source.sql.execute("create publication incomplete for all tables with (publish = 'insert')")
    source.sql.execute("select pg_create_physical_replication_slot('of_another')")
    task, read = source.task(**{what: wrong}), source.task(**{what: wrong}).range
    assert isinstance(read, PostgresRange)
    try:
        with pytest.raises(SourceError) as caught:
            write_range(task)
        with pytest.raises(SourceError) as before:
            preconditions.require_publication(over(source.sql), read.publication, at=read.low)
            preconditions.require_slot(over(source.sql), read.slot, read.low)
    finally:
        source.sql.execute("select pg_drop_replication_slot('of_another')")
    assert caught.value.code == code and caught.value.hint
    assert str(caught.value) == str(before.value)


def test_a_task_reads_the_log_of_the_run_s_timeline_only(source: Source) -> None:
    source.sql.execute("create table t (id int primary key)")
    with pytest.raises(SourceError, match="SRC-117"):
        write_range(source.task(timeline=7))


def test_a_role_without_replication_is_told_so(source: Source, databases: Any) -> None:
    source.sql.execute("create table t (id int primary key)")
    source.sql.execute("create role reader_only login password 'geheim'")
    try:
        dsn = make_conninfo(databases.source, user="reader_only", password="geheim")
        with pytest.raises(SourceError) as caught:
            write_range(source.task(dsn=dsn))
        assert caught.value.code == "SRC-105" and "geheim" not in str(caught.value)
    finally:
        source.sql.execute("drop role reader_only")


def test_a_slot_that_another_session_reads_is_copied(source: Source) -> None:
    source.sql.execute("create table t (id int primary key)")
    source.sql.execute("insert into t select generate_series(1, 50)")
    reader = psycopg.connect(make_conninfo(source.dsn, replication="database"))
    options = "(proto_version '1', publication_names 'pub')"
    reader.pgconn.exec_(f"START_REPLICATION SLOT {source.slot} LOGICAL 0/0 {options}".encode())
    found = source.capture()
    reader.close()
    while source.is_read():
        time.sleep(0.05)
    assert len(found.rows["t"]) == 50
    assert source.sql.execute("select count(*) from pg_replication_slots where temporary").fetchone() == (0,)


@VERSIONS
def test_the_replication_protocol_gives_the_same(source: Source) -> None:
    busy(source, 7, transactions=30)
    high = source.now()
    assert choose_reader(source.sql) is Reader.FUNCTIONS
    role, password = f"streamer_{source.slot}", "ge'h\\eim"
    source.sql.execute(f"create role {role} login replication password '{password.replace(chr(39), chr(39) * 2)}'")
    source.sql.execute("revoke execute on function pg_logical_slot_peek_binary_changes from public")
    try:
        dsn = make_conninfo(source.dsn, user=role, password=password)
        with psycopg.connect(dsn, autocommit=True) as session:
            assert choose_reader(session) is Reader.PROTOCOL
        with pytest.raises(SourceError, match="SRC-105"):
            source.capture(high=high, dsn=dsn)
        commits = [t["lsn"] for t in source.capture(high=high).transactions]
        middle = Position(commits[len(commits) // 2])
        for low, up in ((source.low, middle), (middle, high)):
            wanted = source.capture(low=low, high=up).everything()
            assert source.capture(low=low, high=up, dsn=dsn, reader=Reader.PROTOCOL).everything() == wanted
        with pytest.raises(SourceError, match="SRC-102"):
            source.capture(high=high, dsn=dsn, reader=Reader.PROTOCOL, slot="nowhere")
    finally:
        source.sql.execute(f"drop role {role}")


def test_the_location_never_shows(source: Source) -> None:
    source.sql.execute("create table t (id int primary key)")
    task = source.task()
    assert source.dsn not in repr(task) and source.folder.as_uri() not in repr(task)


MEASURE = """
import pickle, resource, sys
from airflow_ddlrepl.capture.write_range import write_range
tasks = pickle.loads(bytes.fromhex(sys.stdin.read()))
used = []
for task in tasks:
    part = write_range(task)
    used.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
print(part.change_count, part.bytes_read, *used)
"""


def test_a_large_transaction_does_not_grow_memory(source: Source) -> None:
    source.sql.execute("create table t (id int primary key, x text)")
    first = source.now()
    source.sql.execute("insert into t select i, repeat(md5(i::text), 8) from generate_series(1, 500000) i")
    tasks = [source.task(high=first), source.task()]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE], input=pickle.dumps(tasks).hex(), capture_output=True, text=True, check=True
    )
    changes, size, before, after = map(int, done.stdout.split())
    assert changes == 500_000 and size > 130_000_000
    assert after - before < 400, f"{after - before} MB for {size} bytes of messages"
