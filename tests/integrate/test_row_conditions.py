"""Laws of conditions: what is written is read again as the same, nothing else is read, and changes of rows that come
into a condition and go out of it leave exactly those that it is true for.
"""

from __future__ import annotations

from collections import Counter
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_ddlrepl.engines.postgres.connection.conditions import is_true
from airflow_ddlrepl.errors import TargetError, Unsupported
from airflow_ddlrepl.integrate.netting.equality import KeyColumn
from airflow_ddlrepl.integrate.netting.images import net_images
from airflow_ddlrepl.integrate.netting.keys import key_rows
from airflow_ddlrepl.integrate.netting.migration import migrated
from airflow_ddlrepl.integrate.netting.net_changes import net
from airflow_ddlrepl.integrate.steps.restrict import restrict
from airflow_ddlrepl.mapping.rows import condition_columns
from airflow_ddlrepl.model.change import Op
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import DataType, TypeKind
from airflow_ddlrepl.notation.condition import expression as parts
from airflow_ddlrepl.notation.condition.parser import TYPES, condition, spelled
from tests.integrate.test_net import COLUMNS, INT_FIELDS, Source, changes_of

names = st.builds(parts.Named, st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
texts = st.builds(parts.Text, st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
numbers = st.builds(parts.Number, st.from_regex(r"[0-9]{1,9}(\.[0-9]{1,5})?(e[0-9]{1,2})?", fullmatch=True))
constants = st.one_of(texts, numbers, st.builds(parts.Truth, st.booleans()))
values = st.recursive(
    names | constants,
    lambda of: st.one_of(
        st.builds(parts.Cast, of, st.sampled_from(sorted(set(TYPES.values())))),
        st.builds(parts.Minus, of),
        st.builds(parts.Arithmetic, of, st.sampled_from("+-*"), of),
    ),
    max_leaves=4,
)
predicates = st.one_of(
    names,
    st.builds(parts.Compare, values, st.sampled_from(["=", "<>", "<", ">=", "IS DISTINCT FROM"]), values),
    st.builds(parts.Among, values, st.lists(constants, min_size=1, max_size=3).map(tuple), st.booleans()),
    st.builds(parts.Between, values, values, values, st.booleans()),
    st.builds(parts.Like, values, texts.filter(lambda of: not of.value.endswith("\\")), st.booleans()),
    st.builds(parts.IsNull, values, st.booleans()),
)
conditions = st.recursive(
    predicates,
    lambda of: st.one_of(
        st.builds(parts.Not, of),
        st.builds(parts.Joined, st.sampled_from(["AND", "OR"]), st.lists(of, min_size=2, max_size=3).map(tuple)),
    ),
    max_leaves=4,
).filter(lambda found: found.names())


@given(conditions)
def test_what_is_spelled_is_read_as_the_same(said: Any) -> None:
    assert condition(spelled(said)) == said


@given(conditions)
def test_a_server_gets_no_text_of_a_person(said: Any) -> None:
    """Every name and constant is quoted; between them stand words of ours alone."""
    taken = is_true(said, lambda name: "COLUMN")
    plain = said.sql(parts.Spelling(lambda name: "COLUMN", lambda text: "TEXT"))
    assert set(plain) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789()., =<>+-*%")
    assert "--" not in plain and taken.endswith(" IS TRUE")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "it is empty"),
        ("now() > d", "now(…): there are no functions"),
        ("lower(a) = 'x'", "there are no functions"),
        ("a = (SELECT 1)", "select can't be there"),
        ("EXISTS (SELECT FROM b)", "exists can't be there"),
        ("a = 1; DROP TABLE t", "can not be there"),
        ("a = 1 -- b", "no comments"),
        ("a = /* b */ 1", "no comments"),
        ("a = $1", "can not be there"),
        ("a = :b", "can not be there"),
        ("a = ?", "can not be there"),
        ("t.a = 1", "write the column's name alone"),
        ("a = E'\\n'", "write a text in single quotes"),
        ("a = $$b$$", "write a text in single quotes"),
        ("a = U&'b'", "write a text in single quotes"),
        ("a = 'b", "write a text in single quotes"),
        ("a = b'1'", "write a text in single quotes"),
        ("a || 'b' = 'c'", "can not be there"),
        ("a ->> 'b' = 'c'", "can not be there"),
        ("a / 2 = 1", "can not be there"),
        ("a ~ 'b'", "can not be there"),
        ("a % b = 1", "% takes a number other than 0"),
        ("a % 0 = 1", "% takes a number other than 0"),
        ("a ILIKE 'b'", "can not be there"),
        ("a LIKE b", "LIKE needs a text"),
        (r"a LIKE 'b\\\'", "must not end with a single backslash"),
        ("a IN (b)", "IN takes constants only"),
        ("a IN (SELECT 1)", "select can't be there"),
        ("a IN ()", "can not be there"),
        ("a = ANY (b)", "any can't be there"),
        ("a = NULL", "null can't be there"),
        ("current_date > d", "current_date can't be there"),
        ("user = 'me'", "user can't be there"),
        ("date '2026-01-01' > d", "write '…'::type"),
        ("a::regclass = 'b'", "::regclass: there is a cast to"),
        ("a::varchar(2) = 'b'", "::varchar: there is a cast to"),
        ("a = 1e-5", "is no number"),
        ("a = 0x1f", "is no number"),
        ("Ä = 1", "must be in double quotes"),
        ('"" = 1', "an empty name"),
        ("1 = 1", "it names no column"),
        ("a + 1", "is neither true nor false"),
        ("(a > 1) = true", "is true or false, and is used as a value"),
        ("a = 1 OR", "it ends where"),
        ("(a = 1", ") is missing before its end"),
        ("a NOT 1", "can not be there"),
        ("a IS 1", "DISTINCT is missing before 1"),
        ("(" * 5000 + "a" + ")" * 5000, "nested too deeply"),
        ("a COLLATE \"C\" = 'b'", "can not be there"),
        ("a[1] = 2", "can not be there"),
        ("CASE WHEN a THEN true END", "case can't be there"),
        ("(a, b) = (1, 2)", ") is missing before"),
    ],
)
def test_what_is_not_known_is_refused(text: str, told: str) -> None:
    with pytest.raises(ValueError) as caught:
        condition(text)
    assert told in str(caught.value)


def test_the_same_said_otherwise() -> None:
    """Case, blanks and needless parentheses make no other condition; quotes make another name."""
    assert spelled(condition("Region='EU'  and(AMOUNT>100)")) == spelled(condition("region = 'EU' AND amount > 100"))
    assert condition('"Region" = 1') != condition("Region = 1")
    assert (
        spelled(condition("a!=1 OR NOT b AND c IS TRUE")) == "((a <> 1) OR ((NOT b) AND (c IS NOT DISTINCT FROM TRUE)))"
    )
    assert spelled(condition("a - 1 - 2 * -b > 0")) == "(((a - 1) - (2 * (- b))) > 0)"


def table(**types: str) -> Table:
    columns = (Column(i, name, DataType(of, "pg_catalog", of)) for i, (name, of) in enumerate(types.items(), 1))
    return Table(1, TableName("public", "t"), tuple(columns))


TYPED = table(n="numeric(9,2)", s="character varying(9)", b="boolean", d="date", j="jsonb", u="uuid", m="money")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("n BETWEEN 1 AND 2.5 AND s LIKE 'a%' AND b AND d > '2026-01-01' AND u IS NULL AND s = 'b'", ""),
        ("d::timestamp < '2026-01-01'::timestamp OR n::bigint = 4 OR b = 'yes'", ""),
        ("missing = 1", "ADP-147"),
        ('N = 1 AND "N" = 1', "ADP-147"),
        ("s > 'a'", "ADP-148"),
        ("s BETWEEN 'a' AND 'b'", "ADP-148"),
        ("n LIKE '1%'", "ADP-148"),
        ("n = s", "ADP-148"),
        ("s + 1 = 2", "ADP-148"),
        ("n", "ADP-148"),
        ("NOT (n > 1 AND d)", "ADP-148"),
        ("d > 'Today'", "ADP-148"),
        ("d = 'now'::timestamp", "ADP-148"),
        ("d IN ('2026-01-01', 'tomorrow')", "ADP-148"),
        ("s::int = 1", "ADP-148"),
        ("n::text = '1'", "ADP-148"),
        ("j IS NULL", "ADP-148"),
        ("m > 1", "ADP-148"),
        ("b AND s", "ADP-148"),
    ],
)
def test_only_what_compares_alike_everywhere(text: str, code: str) -> None:
    if not code:
        found = condition_columns(condition(text), TYPED)
        assert {column.name for column in found} == set(condition(text).names())
        return
    with pytest.raises(Unsupported) as caught:
        condition_columns(condition(text), TYPED)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("column", "told"),
    [
        (
            Column(1, "a", DataType("text", "pg_catalog", "text"), collation="public.blind"),
            "its collation public.blind",
        ),
        (Column(1, "a", DataType("text", "pg_catalog", "text"), generated="stored"), "what is computed"),
        (Column(1, "a", DataType("s.mood", "s", "mood", TypeKind.ENUM)), "its type is s.mood"),
        (Column(1, "a", DataType("text[]", "pg_catalog", "text", TypeKind.ARRAY)), "its type is text[]"),
        (Column(1, "a", DataType("s.word", "s", "word", TypeKind.DOMAIN)), "its type is s.word"),
    ],
)
def test_columns_that_are_not_alike_everywhere(column: Column, told: str) -> None:
    with pytest.raises(Unsupported) as caught:
        condition_columns(condition("a IS NULL"), Table(1, TableName("public", "t"), (column,)))
    assert caught.value.code == "ADP-148" and told in caught.value.message


def test_a_collation_that_every_server_has_is_exact() -> None:
    column = Column(1, "a", DataType("text", "pg_catalog", "text"), collation='pg_catalog."de-x-icu"')
    assert condition_columns(condition("a = 'b'"), Table(1, TableName("public", "t"), (column,))) == (column,)


def holds(row: dict[str, Any]) -> bool:
    """A condition whose answer changes with the values, and is unknown for NULL."""
    return row["x"] is not None and row["x"] % 2 == 0


@given(st.randoms(use_true_random=False), st.booleans())
def test_what_is_left_of_the_changes_keeps_exactly_the_rows_that_it_is_true_for(chance: Any, with_key: bool) -> None:
    source = Source(chance, full=True)
    target = {k: row for k, row in source.rows.items() if holds(row)}
    for _ in range(chance.randrange(12)):
        source.step()
    types = {name: dict(INT_FIELDS)["lsn"] for name in COLUMNS}
    changes = changes_of(source.log, types, COLUMNS)
    new_at, old_at = key_rows(changes)
    was, now = np.zeros(len(source.log), bool), np.zeros(len(source.log), bool)
    now[new_at] = [holds(source.log[i]["a"]) for i in new_at]
    was[old_at] = [holds(source.log[i]["b"]) for i in old_at]
    left = migrated(changes, was, now)
    wanted = [row for row in source.rows.values() if holds(row)]
    if with_key:
        assert sorted(merged(target, left), key=str) == sorted(wanted, key=str)
    else:
        images = Counter(tuple(row.values()) for row in target.values())
        for row in net_images(left, COLUMNS).to_pylist() if left.num_rows else ():
            images[tuple(row[f"a_{name}"] for name in COLUMNS)] += row["copies"]
        assert +images == Counter(tuple(row.values()) for row in wanted) and min(images.values(), default=0) >= 0


def merged(target: dict[int, dict[str, Any]], changes: Any) -> list[dict[str, Any]]:
    """The target's rows after the net change, which must find what it is about."""
    rows = dict(target)
    found = net(changes, COLUMNS, (KeyColumn("k"),))
    for row in found.deletes.to_pylist():
        del rows[row["b_k"]]
    moved = [(rows.pop(row["b_k"]), row) for row in found.moves.to_pylist()]
    for row in found.updates.to_pylist():
        assert row["a_k"] in rows
        rows[row["a_k"]] = {name: row[f"a_{name}"] for name in COLUMNS}
    for row in [*(row for _, row in moved), *found.inserts.to_pylist()]:
        assert row["a_k"] not in rows
        rows[row["a_k"]] = {name: row[f"a_{name}"] for name in COLUMNS}
    return list(rows.values())


def test_a_column_that_the_log_does_not_carry() -> None:
    """A publication may leave columns out."""
    changes = changes_of([{"op": Op.INSERT, "a": {"n": 1}}], {"n": dict(INT_FIELDS)["lsn"]}, ())
    with pytest.raises(TargetError, match="does not carry s, which") as caught:
        restrict(Mock(), changes, condition("n > 1 AND s = 'a'"), TYPED, {"n": "native"}, "")
    assert caught.value.code == "INT-113"


def test_the_four_ways_of_an_update() -> None:
    told = [{"op": Op.UPDATE, "before": 2, "a": {"k": i, "x": 1}, "b": {"k": i, "x": 0}} for i in range(4)]
    types = {name: dict(INT_FIELDS)["lsn"] for name in ("k", "x")}
    was, now = np.array([True, True, False, False]), np.array([True, False, True, False])
    left = migrated(changes_of(told, types, ("k", "x")), was, now)
    assert left.select(["seq", "op", "before"]).to_pylist() == [
        {"seq": 0, "op": Op.UPDATE, "before": 2},
        {"seq": 1, "op": Op.DELETE, "before": 2},
        {"seq": 2, "op": Op.INSERT, "before": 0},
    ]
