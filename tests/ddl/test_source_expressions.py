"""Which texts of a source are one expression of their kind, and which a target may evaluate."""

from __future__ import annotations

import psycopg
import pytest

from airflow_ddlrepl.sql.expressions.allowed import OPERATORS, Use, functions, why_not
from airflow_ddlrepl.sql.expressions.kinds import parse_bound, parse_check, parse_expression, parse_key, parse_type
from airflow_ddlrepl.sql.expressions.words import NotOneText
from tests.conftest import Databases
from tests.support.replica import BOTH, run

TYPES = {("shop", "mood"), ("shop", "pair")}
GOOD = (
    "'x'::text", "now()", "((a + 1))::numeric(10,2)", "CASE WHEN (a > 1) THEN 'x'::text ELSE NULL::text END",
    "(EXTRACT(year FROM d))::integer", "to_tsvector('english'::regconfig, body)",
    "(a = ANY (ARRAY['a'::text, 'b'::text]))", '"left"(a, 3)', "(lower((x)::text) COLLATE \"C\")",
    "nextval('public.s'::regclass)", "CURRENT_TIMESTAMP(3)", "'a'::shop.mood", "timezone('utc'::text, now())",
    "'\\'::text", "B'101'::\"bit\"", "((a)::text || '''; DROP'::text)", "(a IS DISTINCT FROM b)", "(x).lo",
    "'1 day'::interval day to second(3)", "TRIM(BOTH ' '::text FROM a)", "SUBSTRING(a FROM 1 FOR 2)",
    "'{}'::integer[]", "ARRAY[]::integer[]", "a[1]", "((a -> 'b'::text) ->> 'c'::text)", "'1.5'::double precision",
    "'-1'::integer", "make_interval(days => 10)", "concat(VARIADIC a)", "COALESCE(a, b, 0)", "(NOT (a AND b))",
    "OVERLAY(a PLACING b FROM 1)", "POSITION(('a'::text) IN (b))", "(a IS NOT NULL)", "(d AT TIME ZONE 'UTC'::text)",
    '"my ""odd"" column"', "inet_client_addr()", "gen_random_uuid()", "CURRENT_USER", "(- a)", "1.5", ".5", "1e10",
    "ROW(1, 'a'::text)", "(x IS NFC NORMALIZED)", "pg_catalog.now()", "JSON_EXISTS(a, '$.b'::jsonpath)",
    "JSON_QUERY(a, '$.b' WITH UNCONDITIONAL WRAPPER)",
    "JSON_VALUE(a, '$.b' PASSING 1 AS x RETURNING integer DEFAULT 1 ON EMPTY ERROR ON ERROR)",
    "(a OPERATOR(pg_catalog.+) b)", "CAST(a AS integer)", "(a NOT LIKE 'x%')", "(a IN (1, 2))",
    "((a NOT BETWEEN 1 AND 2) AND b)", "(NOT (a LIKE b))", "CAST((a + 1) AS numeric(5,2))",
)  # fmt: skip
NOT_ONE = (
    "1; DROP TABLE x", "0, ADD COLUMN x int", "0 -- x", "(SELECT 1)", "x NOT NULL", "$$x$$", "1 DO $$", "'a' 'b'",
    "E'x'", "U&'x'", 'U&"x"', "1 /* */ + 2", "((1)", "1)", "", "'open", '"open', "a b", "1 2", "$1", "\\", "a := 1",
    "now() OVER ()", "count(*)", "x::int DEFAULT 2", "1 CHECK (true)", "ARRAY(SELECT 1)", "EXISTS(SELECT 1)",
    "CAST(a)", "CAST(a AS int, b)", "CAST(a AS int DEFAULT 1)", "a IN (SELECT 1)", "a IN 1", "a LIKE", "a NOT 1",
    "CASE END", "a.b", "€$x$1", "1'x'", "f(a ORDER BY b)", "1\0", "a = ANY 1",
    "(" * 200 + "1" + ")" * 200, "x" * 100_001,
)  # fmt: skip
NOT_ALLOWED = (
    "public.f(1)", "pg_terminate_backend(pg_backend_pid())", "pg_cancel_backend(1)", "pg_notify('a'::text, 'b'::text)",
    "set_config('client_encoding'::text, 'latin1'::text, false)", "current_setting('a'::text)", "pg_sleep(1)",
    "ts_rewrite('a'::tsquery, 'select 1'::text)", "query_to_xml('select 1'::text, true, true, ''::text)",
    "table_to_xml('a'::regclass, true, true, ''::text)", "database_to_xml(true, true, ''::text)", "lo_create(0)",
    "cursor_to_xml('a'::refcursor, 1, true, true, ''::text)", "pg_advisory_lock(1)", "pg_try_advisory_xact_lock(1)",
    "pg_read_file('/etc/passwd'::text)", "lo_import('/etc/passwd'::text)", "lo_get(1)", "loread(1, 1)",
    "setval('a'::regclass, 1)",
    "pg_logical_emit_message(true, 'a'::text, 'b'::text)", "pg_stat_reset()", "pg_reload_conf()", "setseed(0.5)",
    "has_table_privilege('a'::text, 'select'::text)", "pg_get_viewdef('a'::text)", "to_regclass('a'::text)",
    "'pg_authid'::regclass", "(a)::regclass", "(a)::regprocedure", "'f(int)'::regprocedure", "((a)::regconfig)::text",
    "CAST(a AS regclass)", "CAST('f' AS regproc)",
    "(a OPERATOR(public.+) b)", "(a @#@ b)", "'a'::public.evil", "(x).pg_sleep", "((1.5)).pg_sleep",
    "currtid2('a'::text, '(0,1)'::tid)", "pg_ls_dir('.'::text)", "generate_series(1, 2)", "txid_status(1)", "version()",
    "satisfies_hash_partition('a'::regclass, 1, 0, 1)", "jsonb_populate_record(NULL::shop.pair, a)", "current_query()",
)  # fmt: skip


@pytest.mark.parametrize("text", GOOD)
def test_what_catalogs_print_may_be_evaluated(text: str) -> None:
    assert why_not(text, Use.DEFAULT, 18, TYPES, {"lo", "hi"}) == ""


@pytest.mark.parametrize("text", NOT_ONE)
def test_anything_but_one_expression_is_refused(text: str) -> None:
    assert "is not one expression" in why_not(text, Use.DEFAULT, 18, TYPES)


@pytest.mark.parametrize("text", NOT_ALLOWED)
def test_what_is_on_no_list_is_refused(text: str) -> None:
    why = why_not(text, Use.DEFAULT, 18, TYPES, {"lo", "hi"})
    assert why
    assert "not one expression" not in why


def test_the_place_of_an_expression_and_the_version_decide() -> None:
    assert why_not("uuidv7()", Use.DEFAULT, 18) == ""
    assert why_not("uuidv7()", Use.DEFAULT, 15) == "calls uuidv7, which PostgreSQL 15 lacks"
    assert why_not("now()", Use.GENERATED, 18).startswith("calls now,")
    assert why_not("CURRENT_USER", Use.GENERATED, 18) == "depends on current_user"
    assert why_not("CHECK ((VALUE <= now()))", Use.CHECK, 18) == ""
    assert why_not("CHECK ((random() > (0)::double precision))", Use.CHECK, 18).startswith("calls random,")
    assert why_not("LIST (random())", Use.PARTITION_KEY, 18).startswith("calls random,")
    assert why_not("random(1, 6)", Use.DEFAULT, 17) == ""
    assert why_not("random(1, 6)", Use.DEFAULT, 15) == "calls random with 2 arguments, which PostgreSQL 15 lacks"
    assert "can't read" in why_not("JSON_VALUE(a, '$.b' RETURNING integer NULL ON EMPTY)", Use.GENERATED, 16)
    assert "can't read" in why_not("(a IS JSON OBJECT)", Use.GENERATED, 15)


@pytest.mark.parametrize(
    ("parse", "good", "bad"),
    [
        (parse_type, ("numeric(3,-2)[]", "timestamp(3) with time zone", 'shop."Mood"[]', '"char"', "bit varying(3)",
                      "interval day to second(3)", "geo.geometry(Point,4326)", "double precision"),
         ("int); DROP", "int NOT NULL", "int COLLATE x", "int, b int", "a.b.c", "int --", "int DEFAULT 1", "")),
        (parse_bound, ("DEFAULT", "FOR VALUES IN ('a', NULL, -1)", "FOR VALUES FROM (MINVALUE, 1) TO (2, MAXVALUE)",
                       "FOR VALUES WITH (modulus 4, remainder 0)"),
         ("FOR VALUES IN (1); DROP", "FOR VALUES IN (f(1))", "FOR VALUES IN ()", "DEFAULT x", "b",
          "FOR VALUES FROM (1)")),
        (parse_key, ("RANGE (day)", 'LIST (lower(x) COLLATE "C" text_pattern_ops, ((a + b)))', 'HASH ("A")'),
         ("RANGE (day) TABLESPACE x", "RANGE ()", "SOME (x)", "LIST (x); DROP")),
        (parse_check, ("CHECK ((VALUE > 0))", "CHECK (true) NOT VALID"),
         ("CHECK (true) NOT NULL", "CHECK ((VALUE > 0)); DROP", "CHECK true", "NOT NULL")),
    ],
)  # fmt: skip
def test_other_texts_are_of_their_kind(parse: object, good: tuple[str, ...], bad: tuple[str, ...]) -> None:
    for text in good:
        parse(text)  # type: ignore[operator]
    for text in bad:
        with pytest.raises(NotOneText):
            parse(text)  # type: ignore[operator]


_FUNCTIONS = """
SELECT proname,
  bool_or(proretset OR prokind <> 'f' OR prorettype IN ('internal'::regtype, 'cstring'::regtype) OR EXISTS (
    SELECT FROM unnest(proargtypes::oid[]) a WHERE a IN ('internal'::regtype, 'cstring'::regtype))),
  array_agg(DISTINCT provolatile::text ORDER BY provolatile::text), bool_and(NOT prosecdef)
FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace GROUP BY proname
"""
_MARKS = {"immutable": ["i"], "mixed": ["i", "s"], "stable": ["s"], "volatile": ["v"]}
REVIEWED = (
    "array_sample array_shuffle clock_timestamp currval gen_random_uuid lastval nextval random random_normal timeofday"
    " uuidv4 uuidv7"
)
"""These are the only volatile ones: they draw numbers or read a clock."""


@BOTH
def test_the_list_of_functions_is_true_of_the_server(databases: Databases) -> None:
    with psycopg.connect(databases.source) as connection:
        version = connection.info.server_version // 10_000
        there = {row[0]: row[1:] for row in connection.execute(_FUNCTIONS)}
        rows = connection.execute(
            "SELECT DISTINCT oprname FROM pg_operator o JOIN pg_proc p ON p.oid = oprcode"
            " WHERE oprnamespace = 'pg_catalog'::regnamespace AND provolatile <> 'v'"
        ).fetchall()
    assert {name for (name,) in rows} == OPERATORS
    listed = {name: one for name, one in functions().items() if one.since <= version}
    assert listed.keys() <= there.keys()
    assert not {n for n, one in functions().items() if one.since > version} & there.keys()
    assert [name for name in listed if there[name][0] or not there[name][2]] == []
    wrong = [n for n, one in listed.items() if not set(there[n][1]) <= set(_MARKS[one.volatility])]
    assert wrong == []
    assert {n for n, one in functions().items() if one.volatility == "volatile"} == set(REVIEWED.split())


def test_what_a_server_prints_of_common_expressions_is_one_expression(databases: Databases) -> None:
    run(databases.source, *PRINTED)
    with psycopg.connect(databases.source) as connection:
        connection.execute("SET search_path = pg_catalog, pg_temp")
        texts = [t for (t,) in connection.execute("SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef")]
    refused = {text: why for text in texts if (why := why_not(text, Use.DEFAULT, 18))}
    assert refused == {}
    assert len(texts) > 30
    for text in texts:
        parse_expression(text)


_DEFAULTS = {
    "text": ("'a;b'", "'it''s'", "current_user", "upper('x')", "to_char(now(), 'YYYY')", "concat('a', 1)", "md5('x')",
             "'a' || 'b'", "format('%s', 1)", "repeat('x', 3)", "translate('a', 'b', 'c')", "split_part('a', 'b', 1)",
             "initcap('x') collate \"C\"", "(array['a','b'])[1]", "trim(both from 'x')", "substr('abc', 2)"),
    "int": ("1", "-1", "(1 + 2) * 3", "case when random() > 0.5 then 1 else 2 end", "coalesce(null, 1)", "length('x')"),
    "timestamptz": ("now()", "current_timestamp", "clock_timestamp() + interval '1 day'", "date_trunc('day', now())",
                    "'2020-01-01'", "timezone('utc', now())", "now() at time zone 'utc' at time zone 'utc'"),
    "jsonb": ("'{}'", "jsonb_build_object('a', 1)", "'{\"a\": 1}'::jsonb -> 'a'", "to_jsonb(1)"),
    "uuid": ("gen_random_uuid()", "uuidv7()"),
    "numeric(10,2)": ("0", "1.5", "'NaN'"),
    "int[]": ("'{}'", "array[1,2]", "array[]::int[]"),
    "bool": ("true", "1 > 2", "not false", "'a' is distinct from 'b'", "'a' like 'b%'", "1 between 0 and 2"),
    "bit(3)": ("b'101'",), "bytea": ("'\\x00'", "sha256('a')"), "interval": ("'1 day'", "make_interval(days => 2)"),
    "int4range": ("'[1,2)'", "int4range(1, 2)"), "inet": ("inet_client_addr()",), "money": ("1::money",),
    "tsvector": ("to_tsvector('english', 'a')",), "double precision": ("random()", "'Infinity'", "power(2, 3)"),
}  # fmt: skip
PRINTED = [
    f"create table t{number} (" + ", ".join(f"c{i} {of} default ({text})" for i, text in enumerate(texts)) + ")"
    for number, (of, texts) in enumerate(_DEFAULTS.items())
]
