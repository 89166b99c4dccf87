"""What users of the source make there is no code of the target's role: statements of Streams, and of applications."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.ddl.sql.statement_code import Carried, Code, carried, without
from airflow_ddlrepl.flow.admin.apply_status import apply_lines, apply_states
from airflow_ddlrepl.flow.streams.enqueue import enqueue
from tests.conftest import Databases
from tests.flow.streams.apply_process.test_apply import GOES_ON, begun, cycle, rules
from tests.postgres.apply_lcrs.applying import ask
from tests.support.replica import run

DEFINER = "CREATE FUNCTION hr.f() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1'"
TRIGGER = "CREATE FUNCTION hr.tr() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'"
WITH_CODE = {
    DEFINER: Code.FUNCTION,
    "CREATE PROCEDURE hr.p() LANGUAGE sql AS 'SELECT 1'": Code.FUNCTION,
    "CREATE AGGREGATE hr.a (int) (SFUNC = int4pl, STYPE = int)": Code.FUNCTION,
    "CREATE VIEW hr.v AS SELECT * FROM oe.o": Code.VIEW,
    "CREATE MATERIALIZED VIEW hr.mv AS SELECT * FROM oe.o": Code.VIEW,
    "CREATE RULE r AS ON INSERT TO hr.t DO ALSO NOTHING": Code.RULE,
    "CREATE POLICY p ON hr.t USING (true)": Code.POLICY,
    "ALTER TABLE hr.t ENABLE ROW LEVEL SECURITY": Code.POLICY,
    "GRANT SELECT ON hr.t TO PUBLIC": Code.GRANT,
    "ALTER TABLE hr.t OWNER TO pg_monitor": Code.OWNER,
    "CREATE OPERATOR hr.=== (FUNCTION = int4eq, LEFTARG = int, RIGHTARG = int)": Code.OPERATOR,
    "CREATE TYPE hr.r AS RANGE (SUBTYPE = int4, SUBTYPE_DIFF = hr.diff)": Code.TYPE,
    "CREATE INDEX i ON hr.t (hr.own(k))": Code.EXPRESSION,
}
NEVER = (
    "CREATE EXTENSION pg_stat_statements", "DO $$ BEGIN END $$",
    "CREATE EVENT TRIGGER e ON sql_drop EXECUTE FUNCTION f()",
    "CREATE LANGUAGE plperl", "CREATE PUBLICATION p", "CREATE SUBSCRIPTION s CONNECTION '' PUBLICATION p",
    "CREATE SERVER s FOREIGN DATA WRAPPER f", "CREATE TABLE hr.c AS SELECT * FROM oe.o", "SELECT 1 INTO hr.c",
    "CREATE TABLE hr.c (id) AS EXECUTE x", "CALL f()", "GRANT postgres TO mallory", "COPY hr.t FROM PROGRAM 'id'",
    "ALTER SYSTEM SET a = 1", "DROP OWNED BY x", "REASSIGN OWNED BY x TO y", "SECURITY LABEL ON TABLE t IS 'x'",
    "CREATE FOREIGN TABLE t (id int) SERVER s", "IMPORT FOREIGN SCHEMA a FROM SERVER b INTO c", "CREATE ROLE x",
    "CREATE SCHEMA x CREATE TABLE t (id int DEFAULT evil())", "EXPLAIN ANALYZE DELETE FROM t", "",
    "WITH x AS (SELECT 1) SELECT 1",
)  # fmt: skip
CALLING = (
    "CREATE TABLE hr.n (id text DEFAULT current_setting('port'))",
    'CREATE TABLE hr.n (id int, x text DEFAULT "set_config"($$role$$, $$none$$, true))',
    "CREATE TABLE hr.n (id int, x text DEFAULT pg_catalog . set_config ('role', 'none', true))",
    "CREATE TABLE hr.n (id int, x text DEFAULT concat(VARIADIC hr.own()))",
    "CREATE TABLE hr.n (id int, x int GENERATED ALWAYS AS (hr.own(id)) STORED)",
    "CREATE TABLE hr.n (id int, CHECK (query_to_xml('SELECT 1', true, true, '') IS NOT NULL))",
    "CREATE TABLE hr.n (id int, CHECK (trim(BOTH hr.own(id) FROM 'x') <> ''))",
    "CREATE TABLE hr.n (id int) PARTITION BY RANGE (hr.own(id))",
    "CREATE TABLE hr.n (id int CHECK (id OPERATOR(hr.===) 1))",
    "CREATE TABLE hr.n (id int CHECK (id === 1))",
    "CREATE DOMAIN hr.d AS text CHECK (ts_rewrite('a', 'SELECT 1') IS NULL)",
    "ALTER TABLE hr.t ADD x text DEFAULT/**/current_setting--\n('port')",
    "ALTER TABLE hr.t ALTER k TYPE int USING hr.own(k)",
    "ALTER TABLE hr.t ALTER note SET DEFAULT lo_import('/etc/passwd')::text",
    'ALTER TABLE hr.t ADD CHECK (U&"\\0070g_sleep"(1) IS NULL)',
)
HARMLESS = (
    "CREATE TABLE hr.n (id int PRIMARY KEY, v varchar(20), n numeric(8, 2) DEFAULT 0, at timestamptz(3) DEFAULT now())",
    "CREATE TABLE hr.n (id bigserial, u uuid DEFAULT gen_random_uuid(), l text GENERATED ALWAYS AS (lower('A')))",
    "CREATE TABLE hr.n (g public.geometry(Point, 4326), FOREIGN KEY (g) REFERENCES hr.t (id) ON DELETE CASCADE)",
    "CREATE TABLE hr.n PARTITION OF hr.p FOR VALUES FROM (1) TO (10) WITH (fillfactor = 70)",
    "ALTER TABLE hr.t ADD CONSTRAINT c CHECK (k IN (1, 2) AND note LIKE 'a%' AND k > -1), ALTER k TYPE numeric(5, 1)",
    "ALTER TABLE hr.t RENAME COLUMN owner TO trigger", "CREATE INDEX ON hr.t USING btree (lower(note)) WHERE (k > 1)",
    "CREATE TYPE hr.m AS ENUM ('a')", "CREATE TYPE hr.c AS (a numeric(3))", "CREATE SEQUENCE hr.s OWNED BY hr.t.k",
    "COMMENT ON FUNCTION f() IS 'x'", "TRUNCATE hr.t", "DROP TABLE hr.t", "ALTER INDEX hr.i ATTACH PARTITION hr.j",
)  # fmt: skip


def test_what_a_statement_carries() -> None:
    assert {text: carried(text) for text in WITH_CODE} == {
        text: Carried(frozenset((kind,))) for text, kind in WITH_CODE.items()
    }
    assert [text for text in NEVER if not carried(text).never] == []
    assert [text for text in CALLING if carried(text).kinds != {Code.EXPRESSION}] == []
    assert [text for text in HARMLESS if carried(text) != Carried()] == []


IN_PARTS = {
    "ALTER TABLE hr.t ADD x int, OWNER TO y": "ALTER TABLE hr.t ADD x int",
    "alter table only hr.t owner to y , drop column a;": "alter table only hr.t drop column a",
    "ALTER TABLE IF EXISTS hr . t * /* , */ ADD x numeric(3, 1), ENABLE ROW LEVEL SECURITY, ALTER k TYPE int -- ,": (
        "ALTER TABLE IF EXISTS hr . t * /* , */ ADD x numeric(3, 1), ALTER k TYPE int"
    ),
    "ALTER TABLE hr.t ADD \"owner\" text DEFAULT ', OWNER TO y', DISABLE TRIGGER ALL": (
        "ALTER TABLE hr.t ADD \"owner\" text DEFAULT ', OWNER TO y'"
    ),
    "ALTER TABLE hr.t OWNER TO y, FORCE ROW LEVEL SECURITY": "",
    "ALTER TABLE hr.t ADD x int": "ALTER TABLE hr.t ADD x int",
    "ALTER TABLE hr.t ADD owner int": "ALTER TABLE hr.t ADD owner int",
    "ALTER INDEX hr.i OWNER TO y": "ALTER INDEX hr.i OWNER TO y",
    "ALTER TABLE": "",
}


def test_what_is_left_of_a_statement_without_rights() -> None:
    kinds = {Code.OWNER, Code.POLICY, Code.TRIGGER}
    assert {text: without(text, kinds) for text in IN_PARTS} == IN_PARTS
    assert without("ALTER TABLE hr.t OWNER TO y, FORCE ROW LEVEL SECURITY", {Code.OWNER}).endswith(
        "hr.t FORCE ROW LEVEL SECURITY"
    )


def catalog(target: str) -> list[tuple[Any, ...]]:
    return ask(
        target,
        "SELECT relname::text, relkind::text, relowner::regrole::text, relacl::text, relrowsecurity FROM pg_class"
        " WHERE relnamespace = 'hr'::regnamespace UNION ALL SELECT proname, 'f', proowner::regrole::text, '', false"
        " FROM pg_proc WHERE pronamespace = 'hr'::regnamespace UNION ALL"
        " SELECT tgname, 't', '', '', false FROM pg_trigger WHERE NOT tgisinternal"
        " UNION ALL SELECT rulename, 'r', '', '', false FROM pg_rules WHERE schemaname = 'hr'"
        " UNION ALL SELECT oprname, 'o', '', '', false FROM pg_operator WHERE oprnamespace = 'hr'::regnamespace"
        " ORDER BY 1, 2",
    )


def test_code_and_rights_of_a_schema_stay_at_the_source(databases: Databases, tmp_path: Path) -> None:
    """The rules take the schema's DDL; its functions, views, grants and the like are left out, and told, one by one."""
    channel = begun(databases, tmp_path, rules("schema"))
    before = catalog(databases.target)
    diff = "CREATE FUNCTION hr.diff(int, int) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT $1 - $2::float8'"
    own = "CREATE FUNCTION hr.own(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1'"
    trigger = "CREATE TRIGGER tr BEFORE INSERT ON hr.t FOR EACH ROW EXECUTE FUNCTION hr.tr()"
    enable = "ALTER TABLE hr.t ENABLE ALWAYS TRIGGER tr"
    made = [diff, own, TRIGGER, trigger, enable, *WITH_CODE]
    found = cycle(channel, *made, "INSERT INTO hr.t VALUES (1, 1, 'x')")
    assert catalog(databases.target) == before
    assert ask(databases.target, "SELECT id FROM hr.t") == [(1,)], "rows go on"
    told = {why: number for why, number in found.discarded.items() if "it carries code or rights" in why}
    assert sum(told.values()) == len(made) - 1, "no rule of a schema takes an operator"
    assert "hr.f: CREATE FUNCTION: it is left out: it carries code or rights (function)" in told
    with channel.opened() as context:
        (state,), _ = apply_states(context, context.repository.runs(context.channel.name))
    assert state["left_out"]["hr.f: CREATE FUNCTION"] == 1
    assert "  left out: hr.f: CREATE FUNCTION" in apply_lines([state])


def test_code_that_the_file_names_is_made_by_a_role_of_its_schema(databases: Databases, tmp_path: Path) -> None:
    """Never by the target's role: a SECURITY DEFINER function, and a view, have the rights of the schema's owner."""
    channel = begun(databases, tmp_path, rules("schema"), code=["function", "view"])
    cycle(channel, DEFINER, "CREATE VIEW hr.v AS SELECT id FROM hr.t", "GRANT SELECT ON hr.v TO PUBLIC")
    owners = "SELECT proowner::regrole::text FROM pg_proc WHERE proname = 'f'"
    assert ask(databases.target, owners) == [("pg_monitor",)]
    views = "SELECT relowner::regrole::text, relacl::text FROM pg_class WHERE relname = 'v'"
    assert ask(databases.target, views) == [("pg_monitor", None)]
    assert cycle(channel, "DROP FUNCTION hr.f()").changes == {"ddl": 1}
    assert ask(databases.target, "SELECT current_user::text, session_user::text") == [("postgres", "postgres")]


def test_a_schema_without_a_role_that_may_run_code_is_an_error(databases: Databases, tmp_path: Path) -> None:
    """Its owner is a superuser, or no role of the target's: the statement waits until the file names one."""
    channel = begun(databases, tmp_path, rules("schema"), GOES_ON, code=["function"])
    run(databases.target, "ALTER SCHEMA hr OWNER TO postgres", "GRANT CREATE ON SCHEMA hr TO pg_read_all_stats")
    found = cycle(channel, DEFINER)
    assert found.errors == 1
    ((text,),) = ask(databases.target, "SELECT error FROM ddlrepl.apply_errors")
    assert "no role runs CREATE FUNCTION hr.f: the schema's owner, postgres, is a superuser" in text
    assert ask(databases.target, "SELECT code FROM ddlrepl.apply_errors") == [("APL-116",)]
    run(databases.target, "DELETE FROM ddlrepl.apply_errors")
    text = channel.file.read_text().replace("run_as: {}", "")
    channel.file.write_text(text.replace("    code:\n", "    run_as: {hr: pg_read_all_stats}\n    code:\n"))
    cycle(channel, "DROP FUNCTION hr.f()", DEFINER)
    assert ask(databases.target, "SELECT proowner::regrole::text FROM pg_proc WHERE proname = 'f'") == [
        ("pg_read_all_stats",)
    ]


@pytest.mark.parametrize("at", [0, 3, 11])
def test_a_table_whose_expressions_call_more_waits_in_the_error_queue(
    databases: Databases, tmp_path: Path, at: int
) -> None:
    channel = begun(databases, tmp_path, rules("schema"), GOES_ON)
    own = "CREATE FUNCTION hr.own() RETURNS text[] LANGUAGE sql IMMUTABLE AS $$SELECT '{a}'::text[]$$"
    found = cycle(channel, own, CALLING[at])
    assert found.errors == 1
    assert ask(databases.target, "SELECT code FROM ddlrepl.apply_errors") == [("APL-115",)]
    assert ask(databases.target, "SELECT to_regclass('hr.n')") == [(None,)]


def test_of_an_alter_table_only_the_actions_with_code_or_rights_are_left_out(
    databases: Databases, tmp_path: Path
) -> None:
    """Rows need the others: values of a type that the target still had as before would be rounded, or refused."""
    channel = begun(databases, tmp_path, rules("schema"), GOES_ON)
    found = cycle(
        channel,
        "ALTER TABLE hr.t ADD x numeric(6, 2) DEFAULT 7, OWNER TO pg_monitor",
        "ALTER TABLE hr.t ENABLE ROW LEVEL SECURITY, ALTER k TYPE numeric(9, 1)",
        "INSERT INTO hr.t VALUES (1, 1.5, 'x', 2.25)",
    )
    assert (found.errors, ask(databases.target, "TABLE hr.t")) == (0, ask(databases.source, "TABLE hr.t"))
    assert {why: number for why, number in found.discarded.items() if "a part of it" in why} == {
        "hr.t: ALTER TABLE: a part of it is left out: it carries code or rights (owner)": 1,
        "hr.t: ALTER TABLE: a part of it is left out: it carries code or rights (policy)": 1,
    }
    secured = "SELECT relowner::regrole::text, relrowsecurity FROM pg_class WHERE oid = 'hr.t'::regclass"
    assert ask(databases.target, secured) == [("postgres", False)]
    with channel.opened() as context:
        (state,), _ = apply_states(context, context.repository.runs(context.channel.name))
    assert state["left_out"] == {"hr.t: ALTER TABLE, a part of it": 2}
    own = "CREATE FUNCTION hr.own() RETURNS int LANGUAGE sql IMMUTABLE AS $$SELECT 1$$"
    found = cycle(channel, own, "ALTER TABLE hr.t ADD y int DEFAULT hr.own(), OWNER TO postgres")
    assert found.errors == 1
    assert ask(databases.target, "SELECT code FROM ddlrepl.apply_errors") == [("APL-115",)], "rows need the column"


ABOUT = {
    "DROP TABLE oe.o": "it is DROP TABLE",
    "ALTER TABLE oe.o ADD x int": "it is about oe.o",
    "ALTER TABLE hr.t ADD x int; DROP TABLE oe.o": "it is none, or several",
    "ALTER TABLE hr.t ADD x int REFERENCES oe.o": "it says REFERENCES",
    "ALTER TABLE hr.t ATTACH PARTITION oe.o DEFAULT": "it says ATTACH",
    "ALTER TABLE hr.t SET SCHEMA oe": "it says SET SCHEMA",
    "ALTER TABLE hr.t INHERIT oe.o": "it says INHERIT",
    "ALTER TABLE hr.t DROP COLUMN k CASCADE": "it says CASCADE",
    "ALTER TABLE t ADD x int": "it is about .t",
    "": "it is none, or several",
}


def test_the_text_of_an_application_is_about_what_its_lcr_names(databases: Databases, tmp_path: Path) -> None:
    """Its rights over that object alone were checked: a text that says more waits in the error queue."""
    channel = begun(databases, tmp_path, rules("schema"), GOES_ON)
    before = catalog(databases.target)
    lcr = {"object": "hr.t", "command": "ALTER TABLE", "source_database": "dbs1"}
    for text in ABOUT:
        with channel.opened() as context:
            enqueue(context, [{**lcr, "text": text}])
    cycle(channel)
    found = ask(databases.target, "SELECT code, error FROM ddlrepl.apply_errors ORDER BY id")
    assert [code for code, _ in found] == ["APL-117"] * len(ABOUT)
    assert [why for (_, text), why in zip(found, ABOUT.values(), strict=True) if why not in text] == []
    assert catalog(databases.target) == before
    with channel.opened() as context:
        enqueue(context, [{**lcr, "text": "ALTER TABLE hr.t ADD x int"}])
    assert cycle(channel).changes == {"ddl": 1}


def test_an_application_s_function_is_no_function_of_the_target(databases: Databases, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, rules("schema"))
    with channel.opened() as context:
        enqueue(context, [{"object": "hr.f", "command": "CREATE FUNCTION", "text": DEFINER, "source_database": "dbs1"}])
    assert [why for why in cycle(channel).discarded if "carries code" in why]
    with psycopg.connect(databases.target) as connection:
        assert connection.execute("SELECT to_regproc('hr.f')").fetchone() == (None,)
