"""Renaming a column inside an expression by its text gives what the server itself makes of the expression."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from airflow_ddlrepl.ddl.columns.column_names import is_unambiguous, mentions, renamed
from airflow_ddlrepl.sql.lexer import canonical

EXPRESSION = "SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 't'::regclass"
# By the name that the column has: it is spelled `{}` in expressions over x text, n int, ts timestamp, c complex.
SURE = {
    "plain": ["{} + n", "coalesce({}, n, 1)", "CASE {} WHEN 1 THEN n ELSE {} END", "({} IS NULL)::int", "n - -{}"],
    'Odd "name"': ["abs({})", "({} BETWEEN 1 AND n)::int", "nullif({}, 0)", "(ARRAY[{}, n])[1]", "-{} # 3"],
    "order": ["{} * 2", "({}::text || 'order')::int", "({} IN (1, 2, n))::int", "({} = ANY (ARRAY[1, n]))::int"],
    "n2": ["({}::numeric(10,2) / 3)::int", "greatest({}, n)", "({} IS DISTINCT FROM n)::int", "(NOT {} = n)::int"],
}
UNSURE = {
    "abs": ["abs({})"],
    "year": ["extract(year FROM ts)::int + {}"],
    "numeric": ["({}::numeric)::int"],
    "at": ["extract(hour FROM ts AT TIME ZONE 'UTC' AT TIME ZONE 'UTC')::int + {}"],
    "without": ["('1'::text || {}::text)::int + extract(hour FROM x::text::timestamp without time zone)::int"],
    "r": ["(c).r::int + {}"],
    "days": ["extract(day FROM make_interval(days => {}))::int"],
}
CASES = [(name, one, sure) for sure, of in ((True, SURE), (False, UNSURE)) for name, many in of.items() for one in many]


@pytest.mark.parametrize(("name", "expression", "sure"), CASES)
def test_as_the_server_does(databases: Any, name: str, expression: str, sure: bool) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    with psycopg.connect(databases.source, autocommit=True) as connection:
        connection.execute(
            "DROP TABLE IF EXISTS t; DROP TYPE IF EXISTS complex; CREATE TYPE complex AS (r float, i float)"
        )
        columns = f"{quoted} int, x text, n int, ts timestamp, c complex"
        generated = f"g int GENERATED ALWAYS AS ({expression.format(*[quoted] * 2)}) STORED"
        try:
            connection.execute(f"CREATE TABLE t ({columns}, {generated})")
        except psycopg.errors.InvalidObjectDefinition:
            assert not sure  # the server finds that it is not immutable: such a one is nowhere
            return
        before = connection.execute(EXPRESSION).fetchone()
        connection.execute(f'ALTER TABLE t RENAME {quoted} TO "To"')
        after = connection.execute(EXPRESSION).fetchone()
    assert before and after and mentions(before[0], name)
    assert is_unambiguous(before[0], name) is sure, before[0]
    if sure:
        assert canonical(renamed(before[0], name, "To")) == canonical(after[0])
