"""A condition means the same in a trigger as where rules are evaluated outside a database."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_ddlrepl.demo.servers import PrivateServer
from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.sync_capture.condition_sql import ConditionWriter
from airflow_ddlrepl.engines.postgres.sync_capture.value_sql import NotInSql
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.condition.problems import ConditionProblem
from airflow_ddlrepl.streams.evaluation.messages import holds
from airflow_ddlrepl.streams.messages import Command, RowLcr
from airflow_ddlrepl.streams.parsing.parser import parse

N, O = ":dml.get_value('NEW','\"{}\"')", ":dml.get_value('OLD','\"{}\"')"  # noqa: E741
KINDS = {
    "n": "number",
    "nan": "number",
    "m": "number",
    "t": "text",
    "u": "text",
    "d": "date",
    "r": "raw",
    "b": "boolean",
}
_VARIABLES = """
SELECT ({}) FROM (SELECT %s::jsonb, %s::jsonb, %s::jsonb, %s::text, %s::text, 'hr'::text, 't'::text,
    TIMESTAMPTZ '2024-02-03 04:05:06+00') AS
    variables(old_row, new_row, kinds, command, tag, object_owner, object_name, captured_at)
"""


@pytest.fixture(scope="module")
def connection(pg18: PrivateServer) -> Iterator[psycopg.Connection[Any]]:
    with session(pg18.create_database("condition_sql")) as found:
        yield found
    pg18.drop_database("condition_sql")


def number(column: str, image: str = N) -> str:
    return image.format(column) + ".AccessNumber()"


def text(column: str, image: str = N) -> str:
    return image.format(column) + ".AccessVarchar2()"


def in_sql(connection: psycopg.Connection[Any], condition: str, lcr: RowLcr) -> bool | None:
    written = ConditionWriter("dbs1", "pg_unicode_fast").condition(parse(condition, case=NameCase.LOWER))
    texts = [json.dumps({k: _text(v) for k, v in row.items()}) for row in (lcr.old, lcr.new)]
    tag = None if lcr.tag is None else lcr.tag.decode()
    query = _VARIABLES.format(written.replace("%", "%%"))
    row = connection.execute(query.encode(), [*texts, json.dumps(KINDS), lcr.command.value, tag]).fetchone()
    assert row is not None
    found: bool | None = row[0]
    return found


def _text(value: Any) -> str | None:
    match value:
        case None | str():
            return value
        case bool():
            return "t" if value else "f"
        case bytes():
            return "\\x" + value.hex()
    return str(value)


def both(connection: psycopg.Connection[Any], condition: str, lcr: RowLcr) -> bool | None:
    """The answer, which has to be one."""
    stamped = replace(lcr, owner="hr", name="t", source_database="dbs1", source_time=datetime(2024, 2, 3, 4, 5, 6))
    wanted = holds(parse(condition, case=NameCase.LOWER), stamped)
    found = in_sql(connection, condition, lcr)
    assert found is wanted, (condition, lcr)
    return found


TEXTS = st.none() | st.text("aB%_!\\ zÄß'", max_size=4)
NUMBERS = st.none() | st.sampled_from(["0", "-1.50", "7", "2.5", "-2.5", "123456789"]).map(Decimal)
ROWS = st.fixed_dictionaries(
    {
        "n": NUMBERS,
        "t": TEXTS,
        "d": st.none() | st.datetimes(datetime(2023, 1, 1), datetime(2025, 1, 1)),
        "r": st.none() | st.binary(max_size=2),
        "b": st.none() | st.booleans(),
    },
    optional={"m": NUMBERS, "u": TEXTS},
)
CHANGES = st.one_of(
    st.builds(lambda new: RowLcr("hr", "t", command=Command.INSERT, new=new), ROWS),
    st.builds(lambda old, n: RowLcr("hr", "t", command=Command.UPDATE, old=old, new={**old, "n": n}), ROWS, NUMBERS),
    st.builds(lambda old: RowLcr("hr", "t", tag=b"x", command=Command.DELETE, old=old), ROWS),
)
NUMERIC = st.recursive(
    st.sampled_from(
        [number("n"), number("m"), number("n", O), number("t"), "7", "-1.5", "NULL", f"LENGTH({text('t')})"]
    ).filter(lambda one: one != "NULL"),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda x: f"({x[0]} {x[1]} {x[2]})"),
        inner.map(lambda x: f"ABS({x})"),
        st.tuples(inner, inner).map(lambda x: f"NVL({x[0]}, {x[1]})"),
        st.tuples(inner, inner).map(lambda x: f"GREATEST({x[0]}, {x[1]})"),
        inner.map(lambda x: f"CASE WHEN {x} > 1 THEN {x} ELSE -3 END"),
        st.tuples(inner, inner).map(lambda x: f"DECODE({x[0]}, {x[1]}, 1, 2)"),
    ),
    max_leaves=3,
)
TEXTUAL = st.recursive(
    st.sampled_from([text("t"), text("u"), text("t", O), "'a'", "'B%'", ":dml.get_command_type()"]),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["UPPER", "LOWER", "TRIM", "LTRIM", "RTRIM"]), inner).map(
            lambda x: f"{x[0]}({x[1]})"
        ),
        st.tuples(inner, inner).map(lambda x: f"({x[0]} || {x[1]})"),
        st.tuples(inner, st.sampled_from(["1", "0", "-2", "2, 2", "3, 0", "-1, 5"])).map(
            lambda x: f"SUBSTR({x[0]}, {x[1]})"
        ),
        inner.map(lambda x: f"REPLACE({x}, 'a', 'bb')"),
        st.tuples(inner, inner).map(lambda x: f"COALESCE({x[0]}, {x[1]}, 'z')"),
    ),
    max_leaves=3,
)
SIGN = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
CONDITION = st.recursive(
    st.one_of(
        st.tuples(NUMERIC, SIGN, NUMERIC).map(" ".join),
        st.tuples(TEXTUAL, SIGN, TEXTUAL).map(" ".join),
        st.tuples(NUMERIC, st.sampled_from(["IN (7, -1.5)", "NOT IN (7, 0)", "BETWEEN -2 AND 8", "IS NULL"])).map(
            " ".join
        ),
        st.tuples(
            TEXTUAL,
            st.sampled_from(["LIKE 'a%'", "NOT LIKE '_B'", "LIKE '%!%%' ESCAPE '!'", "LIKE '\\_%' ESCAPE '\\'"]),
        ).map(" ".join),
        st.sampled_from([f"{N.format('m')} IS NULL", f"{O.format('u')} IS NOT NULL", ":dml.is_null_tag() = 'Y'"]),
        st.sampled_from(
            [f"{N.format('d')}.AccessDate() > DATE '2024-01-31'", f"{N.format('r')}.AccessRaw() = HEXTORAW('00')"]
        ),
        st.sampled_from(
            [f"{N.format('b')}.AccessNumber() = 1", ":ddl.get_object_name() = 't'", ":dml.get_tag() = HEXTORAW('78')"]
        ),
    ),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(lambda x: f"({x[0]} {x[1]} {x[2]})"),
        inner.map(lambda x: f"NOT ({x})"),
        inner.map(lambda x: f"NOT EXISTS (SELECT 1 FROM SYS.DUAL WHERE ({x}))"),
    ),
    max_leaves=4,
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(condition=CONDITION, lcr=CHANGES)
def test_every_condition_has_one_answer(connection: psycopg.Connection[Any], condition: str, lcr: RowLcr) -> None:
    try:
        parse(condition, case=NameCase.LOWER)
    except ConditionProblem:
        return
    both(connection, condition, lcr)


@pytest.mark.parametrize(
    ("condition", "wanted"),
    [
        (f"REGEXP_LIKE({text('t')}, '^A.c$')", True),
        (f"REGEXP_LIKE({text('t')}, '^a.c$', 'i')", True),
        (f"REGEXP_LIKE({text('t')}, '[^x-z]b|q')", True),
        (f"REGEXP_LIKE({text('u')}, '^l.n$')", False),
        (f"REGEXP_LIKE({text('u')}, 'l$')", False),
        (f"{number('nan')} > 5 AND {number('nan')} = {number('nan')}", True),
        (f"MOD({number('n')}, 4) = -1.5", True),
        (f"MOD({number('n')}, 0) = {number('n')}", True),
        (f"ROUND({number('n')}) = -6", True),
        (f"TRUNC({number('n')}, 0) = -5 AND FLOOR({number('n')}) = -6 AND CEIL({number('n')}) = -5", True),
        (f"SIGN({number('n')}) = -1 AND BITAND(6, 3) = 2", True),
        (f"INSTR({text('t')}, 'b') = 2", True),
        (f"NULLIF({number('n')}, -5.5) IS NULL", True),
        (f"RAWTOHEX({N.format('r')}.AccessRaw()) = '0AFF'", True),
        (f"LEAST({text('t')}, 'a') = 'Abc'", True),
        (f"CONCAT({text('missing')}, 'x') = 'x'", True),
        (":dml.get_source_time() = TIMESTAMP '2024-02-03 04:05:06'", True),
        (":dml.get_object_owner() = 'hr' AND :dml.get_source_database_name() = 'dbs1'", True),
        (f"{text('n')} = '-5.5'", None),
    ],
)
def test_functions_have_one_answer(connection: psycopg.Connection[Any], condition: str, wanted: bool | None) -> None:
    row = {"n": Decimal("-5.5"), "t": "Abc", "u": "l\nn", "r": b"\x0a\xff", "nan": Decimal("NaN")}
    assert both(connection, condition, RowLcr("hr", "t", new=row)) is wanted


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        (f"{number('n')} / 3 > 1", "quotient"),
        (":dml.get_scn() > 5", "not known while the row is changed"),
        (":dml.get_extra_attribute('username').AccessVarchar2() = 'x'", "not known while the row is changed"),
        (f"REGEXP_LIKE({text('t')}, '\\bword')", "does not mean the same"),
        (f"REGEXP_LIKE({text('t')}, 'ä')", "does not mean the same"),
        (f"REGEXP_LIKE({text('t')}, 'a{{,3}}')", "does not mean the same"),
    ],
)
def test_what_sql_says_otherwise_is_refused(condition: str, why: str) -> None:
    with pytest.raises(NotInSql, match=why):
        ConditionWriter("dbs1").condition(parse(condition, case=NameCase.LOWER))


def test_upper_and_lower_case_are_refused_where_the_server_does_not_know_them() -> None:
    with pytest.raises(NotInSql, match="pg_unicode_fast"):
        ConditionWriter("dbs1").condition(parse(f"UPPER({text('t')}) = 'A'"))
