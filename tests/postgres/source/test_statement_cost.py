"""What the event triggers do for a statement: as little as the statement needs, however many tables the channel has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from airflow_ddlrepl.config.sections.policies import DdlCapture
from airflow_ddlrepl.config.sections.scope import Joining, Scope
from airflow_ddlrepl.engines.postgres.catalog.inspect import SHAPE_SQL, spelling
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.engines.postgres.source.source import PostgresSource
from tests.conftest import Databases

both = pytest.mark.parametrize("databases", [18, 15], indirect=True)
SCOPE = Scope(("public.*",), (), (Joining("*"),))
TABLES = (
    "CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE DOMAIN positive AS int DEFAULT 1 CHECK (value > 0)",
    "CREATE TYPE pair AS (a mood, b positive[])",
    "CREATE TYPE span AS RANGE (subtype = int)",
    "CREATE TABLE plain (id bigint PRIMARY KEY, a numeric(12, 2), b text DEFAULT 'new', c varchar(10)[], gone int)",
    "ALTER TABLE plain DROP gone, ADD filled int NOT NULL DEFAULT 7",
    "CREATE TABLE typed (id int GENERATED ALWAYS AS IDENTITY, m mood, ms mood[], p positive NOT NULL, r pair, s span)",
    "CREATE TABLE of_row (t plain, ts plain[])",
    "CREATE TABLE computed (a int UNIQUE NOT NULL, b int GENERATED ALWAYS AS (a + 1) STORED PRIMARY KEY)",
    'CREATE TABLE parts (a int, b text COLLATE "C") PARTITION BY RANGE (a)',
    "CREATE TABLE part PARTITION OF parts FOR VALUES FROM (1) TO (9)",
    "CREATE UNLOGGED TABLE no_log (a int)",
    "CREATE TABLE alone (id int PRIMARY KEY, a text NOT NULL)",
    "CREATE TABLE bare ()",
    "CREATE SCHEMA other; CREATE TABLE other.o (id int PRIMARY KEY, a text)",
)


@pytest.fixture
def session(databases: Databases) -> Iterator[Any]:
    """A superuser's session at a source whose tables are all in a channel but for those of `other`."""
    dsn = databases.source
    with connect(dsn) as connection:
        for statement in TABLES:
            connection.execute(statement.encode())
        slot = f"shop_{dsn[-8:]}"
        with PostgresSource(
            dsn, channel="shop", publication="p", slot=slot, scope=SCOPE, ddl=DdlCapture.TRIGGERS
        ) as source:
            source.activate()
            yield connection
            source.deactivate()


def calls(session: Any, statement: str) -> dict[str, int]:
    """How often each function of ours is called by a statement, and how often all rows of a table of ours are read."""
    with session.transaction():
        session.execute("SET LOCAL track_functions = 'all'")
        session.execute(statement.encode())
        found = dict(
            session.execute("SELECT funcname, calls FROM pg_stat_xact_user_functions WHERE schemaname = 'ddlrepl'")
        )
        scans = session.execute(
            "SELECT seq_scan FROM pg_stat_xact_all_tables WHERE relid = 'ddlrepl.member'::regclass"
        ).fetchone()
        return {**found, "all members": scans[0]}


@both
@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE public.alone ADD extra int",
        "ALTER TABLE public.typed ALTER m SET DEFAULT 'sad'",
        "CREATE UNIQUE INDEX ON alone (a)",
        "DROP TABLE part",
    ],
)
def test_a_table_of_the_channel_is_looked_at_once_before_and_once_after(session: Any, statement: str) -> None:
    found = calls(session, statement)
    assert found["table_shape"] == (1 if statement.startswith("DROP") else 2), found
    assert found["record"] == 1
    assert not found["all members"]


@both
def test_a_new_table_is_looked_at_once(session: Any) -> None:
    found = calls(session, "CREATE TABLE fresh (id int PRIMARY KEY, a text)")
    assert found["table_shape"] == found["record"] == 1, found
    assert "affected_by_types" not in found and not found["all members"]


@both
def test_temporary_tables_and_those_of_no_channel_are_not_looked_at(session: Any) -> None:
    for kind, place in (("TEMP ", ""), ("", "other.")):
        for statement in (
            f"CREATE {kind}TABLE {place}passing (id int PRIMARY KEY, a text)",
            f"ALTER TABLE {place}passing ADD b int DEFAULT 1",
            f"CREATE INDEX ON {place}passing (a)",
            f"DROP TABLE {place}passing",
        ):
            found = calls(session, statement)
            assert not {"table_shape", "tended", "affected_by_types"} & found.keys(), (statement, found)
            assert ("record" in found) == (not kind), (statement, found)
            assert not found["all members"], statement


@both
def test_what_a_trigger_tells_of_a_table_is_what_an_inspection_does(session: Any) -> None:
    query = (
        "SELECT x.relname, ddlrepl.table_shape(x.oid), (" + SHAPE_SQL.replace("$1", "x.oid") + ") FROM pg_class x"
        " WHERE x.relnamespace IN ('public'::regnamespace, 'other'::regnamespace) AND x.relkind IN ('r', 'p')"
    )
    with spelling(session):
        rows = session.execute(query.replace("%", "%%").encode()).fetchall()
    assert len(rows) == 10
    for name, by_function, by_query in rows:
        assert by_function == by_query, name
    assert {name for name, shape, _ in rows if shape["types"]} == {"typed", "of_row"}


@both
def test_who_depends_on_a_table_s_row_type_or_on_a_type_is_recorded(session: Any) -> None:
    names = "SELECT c.relname FROM ddlrepl.affected('pg_class'::regclass, %s::regclass) a JOIN pg_class c ON c.oid = a"
    types = "SELECT c.relname FROM ddlrepl.affected('pg_type'::regclass, %s::regtype) a JOIN pg_class c ON c.oid = a"

    def affected(query: str, name: str) -> set[str]:
        return {row[0] for row in session.execute(query, [name]).fetchall()}

    assert affected(names, "plain") == {"plain", "of_row"}
    assert affected(names, "typed") == {"typed"}
    assert affected(names, "parts") == {"parts", "part"}
    assert affected(names, "plain_pkey") == {"plain"}
    assert affected(names, "typed_id_seq") == set()
    assert affected(types, "mood") == affected(types, "positive") == affected(types, "pair") == {"typed"}
    session.execute("CREATE SEQUENCE drawn; ALTER TABLE no_log ALTER a SET DEFAULT nextval('drawn')")
    assert affected(names, "drawn") == {"no_log"}
