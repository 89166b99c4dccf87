"""Sessions of an application in an encoding where a backslash may be part of a character change tables as others do."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from tests.conftest import Databases
from tests.support.replica import Replica, channel_file


@pytest.mark.parametrize("setting", ["client_encoding = 'GBK'", "backslash_quote = off"])
def test_such_a_session_changes_tables(databases: Databases, tmp_path: Path, setting: str) -> None:
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.at_source("create table public.t (id int primary key, n text)", "insert into public.t values (1, 'a')")
    replica.begin()
    with psycopg.connect(databases.source, autocommit=True) as session:
        session.execute(f"set {setting}".encode())
        session.execute("alter table public.t add m text default 'x'")
        session.execute("do $$ begin execute 'alter table public.t add k int default 5'; end $$")
        session.execute("insert into public.t (id, n) values (2, 'b')")
        session.execute("alter table public.t alter n type varchar(20)")
        session.execute("create table public.gone (id int primary key)")
        session.execute("alter table public.gone set unlogged")
        told = session.execute("select ddlrepl.without_passwords('a password ''b''')").fetchall()
        assert told == [("a password '***'",)]
    replica.replicate()
    assert replica.rows("select id, n, m, k from public.t order by id") == [(1, "a", "x", 5), (2, "b", "x", 5)]
