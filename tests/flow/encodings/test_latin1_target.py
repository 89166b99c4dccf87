"""A target in LATIN1 lacks characters that a source in UTF8 has: their table waits by name, and all others go on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.engines.postgres.types.held_texts import as_dumped, dumped, encodable, loaded
from airflow_ddlrepl.errors import DdlReplError
from tests.conftest import Databases
from tests.flow.refresh.test_unreadable_tables import waiting
from tests.flow.restore.put_back import TABLE
from tests.support.replica import BOTH, Replica, channel_file, run

TEXTS = (
    "a",
    "größe",
    "€",
    "\u4e2d",
    "\U0001f600",
    "\\u20ac",
    '"',
    "\n",
    "\x1a20ac;",
    "\x1a",
    "\\\x1a20ac;",
    "\\u001a20ac;",
    "¥",
)


@pytest.fixture
def replica(databases: Databases, tmp_path: Path) -> Iterator[Replica]:
    name = f"latin_{databases.source.rsplit('_', 1)[1]}"
    create = f"create database {name} encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0"
    run(databases.source, create)
    target = databases.server.dsn(name)
    made = Replica(databases.source, target, channel_file(tmp_path, databases.source, target))
    made.at_source(*TABLE, "create table good (id int primary key, v text)", "insert into good values (1, 'größe')")
    made.activate()
    yield made
    databases.server.drop_database(name)


@pytest.mark.parametrize(
    "statements",
    [
        ["alter table t add w text default '€'", "insert into t values (7, 'x')"],
        ["create type price as enum ('€')", "alter table t add w price", "insert into t values (7, 'x', '€')"],
        [
            "create type price as enum ('€')",
            "create table p (id int primary key, v price)",
            "insert into p values (1, '€')",
        ],
        ["insert into t values (7, '€')"],
        ['create table "x€" (id int primary key)', 'insert into "x€" values (1)'],
        ['alter table t rename v to "v€"', "insert into t values (7, 'x')"],
    ],
    ids=["default", "label", "new table", "row", "name", "column"],
)
@BOTH
def test_a_text_that_the_target_can_not_hold(replica: Replica, statements: list[str]) -> None:
    for number in range(2):
        replica.at_source(*(statements if number == 0 else ()), f"insert into good values ({number + 2}, 'ä')")
        with pytest.raises(DdlReplError) as caught:
            replica.replicate()
        assert 'no equivalent in encoding "LATIN1"' in str(caught.value), str(caught.value)
        assert set(waiting(replica)) <= {"public.t", "public.p", "public.x€"} and waiting(replica)
        assert replica.rows("select count(*) from good") == [(number + 2,)]


@BOTH
def test_what_is_noted_of_a_table_comes_back(replica: Replica) -> None:
    with psycopg.connect(replica.target, autocommit=True, client_encoding="utf8") as connection:
        for text in TEXTS:
            value: Any = {text: [text, 1], "id": text * 2}
            ((there,),) = connection.execute("select to_jsonb(%s::text)", [encodable(connection, text)]).fetchall()
            assert loaded(connection, there) == text
            written = dumped(connection, value)
            ((parsed, told),) = connection.execute(
                "select j, j::text from (select %s::jsonb j) s", [written]
            ).fetchall()
            assert loaded(connection, parsed) == value
            assert json.loads(as_dumped(connection, told)) == value
    with psycopg.connect(replica.source, autocommit=True, client_encoding="utf8") as connection:
        for text in TEXTS:
            ((parsed,),) = connection.execute("select %s::jsonb", [dumped(connection, [text])]).fetchall()
            assert loaded(connection, parsed) == [text]
