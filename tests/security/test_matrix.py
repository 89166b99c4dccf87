"""The matrix of docs/security.md: each cell names tests that exist, and those that no other file has are here."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path

import psycopg
import pytest

from airflow_ddlrepl.errors import DdlReplError, TrailError
from tests.conftest import Databases
from tests.support.replica import Replica, channel_file, run
from tests.support.small_roles import small_replica

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "security.md"
ATTACKERS = ("mallory", "the stranger", "the owner", "the trail's writer")
ROLES = ("activator", "reader", "loader", "repository", "Airflow")
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


def cells() -> dict[tuple[str, str], list[str]]:
    part = PAGE.read_text().split("## Who can reach what")[1].split("\n## ")[0]
    return {(row[1], row[2]): re.findall(r"`([^`]+::[^`]+)`", row[4]) for row in ROW.finditer(part)}


def test_every_cell_has_tests_that_exist() -> None:
    found = cells()
    assert {*product(ATTACKERS, ROLES)} <= found.keys() - {("Attacker", "Role")}
    for cell in product(ATTACKERS, ROLES):
        assert found[cell], cell
        for name in found[cell]:
            file, _, function = name.partition("::")
            assert re.search(rf"^def {function}\(", (HERE / file).read_text(), re.MULTILINE), name


def test_a_stranger_can_not_call_what_the_reader_calls(databases: Databases, tmp_path: Path) -> None:
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.at_source("create table t (id int primary key)")
    replica.activate()
    database = databases.source.rsplit("/", 1)[1]
    name = f"stranger_{database}"
    databases.server.create_role(name)
    run(databases.source, f'grant temporary on database "{database}" to "{name}"')
    stranger = databases.server.dsn(database, name)
    for statement in (
        "select ddlrepl.verified('{}', '{}')",
        "select ddlrepl.hold_for_queries(array['public.t'::regclass::oid])",
        "select ddlrepl.runs_code('public.t'::regclass)",
        "select * from ddlrepl.signature",
        "lock table public.t in access share mode",
    ):
        with psycopg.connect(stranger) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement)
    run(
        stranger,
        "create temp table t (id int); create temp table pg_class (oid oid)",
        "select pg_logical_emit_message(true, 'ddlrepl', 'x')",
    )
    replica.at_source("insert into t values (1)")
    replica.settle()
    run(databases.source, f'drop owned by "{name}"', f'drop role "{name}"')


def test_an_owner_stops_her_own_table_alone(databases: Databases, tmp_path: Path) -> None:
    """Row level security, and a lock on it: the others are loaded and go on."""
    replica = small_replica(databases, tmp_path)
    database = databases.source.rsplit("/", 1)[1]
    name = f"owner_{database}"
    databases.server.create_role(name)
    run(databases.source, f'grant create on schema public to "{name}"')
    owner = databases.server.dsn(database, name)
    run(owner, "create table public.hers (id int primary key)", "insert into public.hers values (1)")
    run(owner, "alter table public.hers enable row level security; alter table public.hers force row level security")
    replica.at_source("create table public.other (id int primary key)", "insert into public.other values (1)")
    with pytest.raises(DdlReplError, match="SRC-105") as caught:
        replica.begin()
    assert caught.value.table == "public.hers" and replica.rows("select * from other") == [(1,)]
    replica.at_source("insert into public.other values (2)")
    with pytest.raises(DdlReplError, match="SRC-105"):
        replica.replicate()
    assert replica.rows("select count(*) from other") == [(2,)]
    run(owner, "alter table public.hers disable row level security")
    replica.settle()
    run(databases.source, f'drop owned by "{name}" cascade', f'drop role "{name}"')


def test_a_changed_trail_gives_the_source_nothing(databases: Databases, tmp_path: Path) -> None:
    """Its writer can stop a run; nothing that stands there is run at the source, the target or in the repository."""
    replica = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    replica.at_source("create table t (id int primary key, v text)", "insert into t values (1, 'a')")
    replica.activate()
    replica.at_source("alter table t add n int default 5", "insert into t values (2, 'b', 6)")
    replica.capture()
    files = [file for file in (tmp_path / "trail").rglob("*") if file.suffix in (".json", ".jsonl")]
    forged = [file for file in files if "segments" in file.parts]
    assert forged
    for file in forged:
        before = file.read_bytes()
        text = before.decode().replace('"default": "5"', '"default": "pg_read_file(\'/etc/passwd\')"')
        file.write_text(text if text.encode() != before else _other(text))
        with pytest.raises(TrailError) as caught:
            replica.replicate()
        assert caught.value.code in ("TRL-102", "TRL-103", "TRL-113"), caught.value
        assert replica.rows("select count(*) from t") == [(1,)]
        file.write_bytes(before)
    replica.settle()
    assert replica.rows("select n from t order by id") == [(5,), (6,)]


def _other(text: str) -> str:
    first, *rest = text.splitlines()
    return "\n".join((json.dumps({**json.loads(first), "more": 1}), *rest))
