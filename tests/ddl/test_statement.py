"""DDL text as evidence: it may rule a USING clause out, and it must never do so wrongly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_ddlrepl.ddl.sql.conversion import Conversion, conversions
from airflow_ddlrepl.ddl.sql.expression import Dependence, dependence_of, is_constant
from airflow_ddlrepl.ddl.sql.statement import has_using
from airflow_ddlrepl.sql.lexer import Kind, canonical, tokens

ALTER = "ALTER TABLE t ALTER c TYPE bigint"


@pytest.mark.parametrize(
    "text",
    [
        ALTER,
        f"{ALTER} -- using c * 2",
        f"{ALTER} /* using /* nested using */ */",
        f"{ALTER}, ALTER d SET DEFAULT 'using'",
        f"{ALTER}, ALTER d SET DEFAULT $x$ using $x$",
        f"{ALTER}, ALTER d SET DEFAULT E'\\' using'",
        'ALTER TABLE t ALTER "using" TYPE bigint',
        'ALTER TABLE t ALTER "a""b using" TYPE bigint',
    ],
)
def test_using_is_ruled_out(text: str) -> None:
    assert has_using(text, None) is False
    assert has_using(None, f"BEGIN; {text}\n; COMMIT") is False


@pytest.mark.parametrize("gap", [" ", "\n", "/* */", "--x\n", "\t"])
def test_a_using_clause_is_seen(gap: str) -> None:
    assert has_using(f"{ALTER}{gap}UsInG(c * 2)", None) is True
    assert has_using(None, f"{ALTER}{gap}UsInG(c * 2)") is None


@pytest.mark.parametrize(
    "query",
    [
        None,
        "select change_it()",
        "DO $$ begin execute 'alter table t alter c type bigint'; end $$",
        f"{ALTER}; select change_it()",
        "call change_it()",
        f"{ALTER}, ALTER d SET DEFAULT 'it\\' using'",
        "create table x as select change_it()",
    ],
)
def test_what_may_have_run_something_else_rules_nothing_out(query: str | None) -> None:
    assert has_using(None, query) is None


@pytest.mark.parametrize(
    ("action", "column", "how"),
    [
        ("ALTER c TYPE bigint", "c", Conversion.ASSIGN),
        ("ALTER COLUMN c SET DATA TYPE bigint USING c::bigint", "c", Conversion.CAST),
        ("ALTER c TYPE bigint USING ((C::BIGINT))", "c", Conversion.CAST),
        ('ALTER "C" TYPE "T" USING cast("C" as "T")', "C", Conversion.CAST),
        ("ALTER c TYPE s.e USING c::text::s.e", "c", Conversion.BY_TEXT),
        ('ALTER c TYPE text COLLATE "C" USING c::text', "c", Conversion.CAST),
        ("ALTER c TYPE bigint USING d::bigint", "c", Conversion.OTHER),
        ("ALTER c TYPE bigint USING c::int", "c", Conversion.OTHER),
        ("ALTER c TYPE bigint USING c::bigint + 1", "c", Conversion.OTHER),
        ("ALTER c TYPE bigint USING (c::bigint) + (c::bigint)", "c", Conversion.OTHER),
        ("ALTER c TYPE bigint USING f(c)::bigint", "c", Conversion.OTHER),
        ("ALTER c TYPE bigint USING cast(c as bigint) * cast(c as bigint)", "c", Conversion.OTHER),
        ("ALTER c TYPE bigint USING -c::bigint", "c", Conversion.OTHER),
        ("ALTER d SET DEFAULT f(1, 2), ALTER c TYPE numeric(6,2) USING c::numeric(6,2)", "c", Conversion.CAST),
    ],
)
def test_a_plain_cast_is_told_from_a_computation(action: str, column: str, how: Conversion) -> None:
    for table in ("t", "ONLY t", "IF EXISTS s.t *", '"T x".t'):
        assert conversions(f"ALTER TABLE {table} {action};") == {column: how}
    assert conversions(f"select 1; ALTER TABLE t {action}") == {}


BITS = st.sampled_from(
    ["'", '"', "--", "/*", "*/", "$$", "$a$", "\n", "using", " ", "E'", "''", "\\", "x", ";", "1", "::"]
)


@given(st.lists(BITS).map("".join))
def test_the_lexer_reads_anything(text: str) -> None:
    assert all(t.text or t.kind is Kind.NAME for t in tokens(text))
    assert canonical(canonical(text)) == canonical(text) or '"' in text


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("'it''s nextval('::text", Dependence.PLAIN),
        ("now()", Dependence.PLAIN),
        ("(a * 2)", Dependence.PLAIN),
        ("'ok'::s.\"Mood\"", Dependence.PLAIN),
        ("'ok'::s.other", Dependence.FOREIGN),
        ("nextval('s.q'::regclass)", Dependence.SEQUENCE),
        ("s.f(1)", Dependence.FOREIGN),
        ('s."Mood"(1)', Dependence.FOREIGN),
        ("(a OPERATOR(s.+) b)", Dependence.FOREIGN),
        ("pg_catalog.now()", Dependence.PLAIN),
    ],
)
def test_expressions_that_build_on_the_users_own_objects(expression: str, found: Dependence) -> None:
    assert dependence_of(expression, {("s", "Mood")}) is found


@pytest.mark.parametrize(
    ("expression", "constant"),
    [("7", True), ("'-1'::integer", True), ("('-7')::numeric", True), ("true", True), ("now()", False), ("a", False)],
)
def test_constants(expression: str, constant: bool) -> None:
    assert is_constant(expression) is constant
