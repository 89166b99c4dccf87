"""What column_properties make of a shape: the same schema changes as at a source, or a refusal."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_ddlrepl.ddl.columns.column_names import is_unambiguous, mentions, renamed
from airflow_ddlrepl.ddl.diff import diff as diff_of
from airflow_ddlrepl.engines.postgres.types.type_system import POSTGRES_TYPES
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.mapping.names import target_names, target_shape, with_revealed_columns, without_absent
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.settings.table_settings import ColumnName
from airflow_ddlrepl.model.table import Column, Key, Table
from airflow_ddlrepl.model.types import DataType, TypeDefinition, TypeKind
from tests.support.shapes import NAMES, apply_all, tables

diff = partial(diff_of, types=POSTGRES_TYPES)

INT = DataType("integer", "pg_catalog", "int4", id=23)
T = TableName("public", "t")


def table(*columns: Any, key: tuple[int, ...] = (), **more: Any) -> Table:
    """Columns are names, or a name with its generation expression."""
    made = tuple(
        Column(i, c, INT) if isinstance(c, str) else Column(i, c[0], INT, default=c[1], generated="stored")
        for i, c in enumerate(columns, 1)
    )
    return Table(1, T, made, key=Key(key, "t_pkey", True) if key else None, **more)


def says(columns: str, name: str | None = None) -> ColumnName:
    return ColumnName((columns,), name)


@st.composite
def properties(draw: st.DrawFn) -> tuple[ColumnName, ...]:
    quoted = st.one_of(st.just("*"), NAMES.map(lambda name: '"' + name.replace('"', '""') + '"'))
    one = st.builds(says, quoted, st.one_of(st.none(), NAMES, st.just("new")))
    return tuple(draw(st.lists(one, max_size=4)))


@given(tables(), properties())
def test_the_shape_is_what_renames_and_drops_make_of_it(source: Table, said: tuple[ColumnName, ...]) -> None:
    """Ids stay, so do types, keys and nullability; two runs say the same; a refusal is coded."""
    try:
        found = target_shape(source, said)
    except Unsupported as refusal:
        assert refusal.code in ("ADP-141", "ADP-142", "ADP-143", "ADP-144")
        return
    called = {c.id: name for c in source.columns if (name := target_names(source, said)[c.name]) is not None}
    assert {c.id: c.name for c in found.columns} == called
    assert (found.key, found.identity, found.name, found.partition) == (
        source.key,
        source.identity,
        source.name,
        source.partition,
    )
    for column in found.columns:
        before = source.column(column.id)
        assert replace(column, name=before.name, default=before.default) == before
    goes = source.second_key is not None and not called.keys() >= set(source.second_key.columns)
    assert found.second_key == (None if goes else source.second_key)
    kinds = {change.kind for change in diff(source, found)}
    assert kinds <= {"drop_column", "rename_column", "forget_type", *(["change_key"] if goes else [])}
    assert diff(apply_all(diff(source, found), source), found) == ()
    read = without_absent(source, said)
    assert {c.name for c in read.columns} == {c.name for c in source.columns if c.id in called}
    back = with_revealed_columns(found, source, source)
    assert {c.id for c in back.columns} == {c.id for c in source.columns}
    assert len({c.name for c in back.columns}) == len(back.columns)


def test_a_swap_of_names() -> None:
    found = target_shape(table("a", "b", ("g", "(a + b)")), [says("a", "b"), says("b", "a")])
    assert [c.name for c in found.columns] == ["b", "a", "g"]
    assert found.column(3).default == '("b" + "a")'


def test_the_first_property_that_matches_decides() -> None:
    said = [says("a1", "one"), says("a*", "any"), says("*")]
    assert target_names(table("a1", "a2", "b"), said) == {"a1": "one", "a2": "any", "b": None}


def test_types_of_absent_columns_are_not_needed() -> None:
    """But those that a type that stays builds on."""
    types = tuple(TypeDefinition(i, "s", name, TypeKind.ENUM) for i, name in enumerate(["Base", "Gone"], 50))
    of = (*types, TypeDefinition(60, "s", "D", TypeKind.DOMAIN, base='s."Base"[]'))
    columns = tuple(
        Column(i, name, DataType(f's."{t}"', "s", t, TypeKind.DOMAIN))
        for i, (name, t) in enumerate([("a", "D"), ("b", "Gone")])
    )
    found = without_absent(Table(1, T, columns, types=of), [says("b")])
    assert [t.name for t in found.types] == ["Base", "D"]


def test_a_partition_key_follows_or_refuses() -> None:
    parted = table("a", "b", partition_key="RANGE (a, lower(b))")
    assert target_shape(parted, [says("a", "x y"), says("b", "c")]).partition_key == 'RANGE ("x y", lower("c"))'
    with pytest.raises(Unsupported, match="ADP-142"):
        target_shape(parted, [says("a")])


@pytest.mark.parametrize(
    ("code", "source", "said"),
    [
        ("ADP-141", table("a", "b", key=(1,)), [says("a")]),
        ("ADP-142", table("a", "b", ("g", "(a * 2)")), [says("a")]),
        ("ADP-143", table("a", "b"), [says("*", "c")]),
        ("ADP-143", table("a", "b"), [says("a", "b")]),
        ("ADP-144", table("lower", "b", ("g", "lower(b)")), [says("lower", "upper")]),
    ],
)
def test_what_can_not_be(code: str, source: Table, said: list[ColumnName]) -> None:
    with pytest.raises(Unsupported, match=code):
        target_shape(source, said)


def test_what_is_computed_goes_with_what_it_needs() -> None:
    found = target_shape(table("a", "b", ("g", "(a * 2)"), key=(2,)), [says("a|g")])
    assert [c.name for c in found.columns] == ["b"]


@pytest.mark.parametrize(
    ("expression", "name", "sure"),
    [
        ("(a + b)", "a", True),
        ("((a)::text || 'a'::text)", "a", True),
        ("CASE a WHEN 1 THEN b ELSE a END", "a", True),
        ('lower((a COLLATE "C"))', "a", True),
        ("((a IS NOT NULL) AND (NOT a))", "a", True),
        ("(a)[1]", "a", True),
        ("lower(lower)", "lower", False),
        ("(x)::date", "date", False),
        ("EXTRACT(year FROM x)", "year", False),
        ("(x AT TIME ZONE 'UTC'::text)", "at", False),
        ("(x AT TIME ZONE 'UTC'::text)", "zone", False),
        ("(c).a", "a", False),
        ("s.a(x)", "a", False),
        ("make_interval(days => x)", "days", False),
        ('lower((x COLLATE "a"))', "a", False),
        ("(x)::timestamp without time zone", "without", False),
        ("a text_pattern_ops", "text_pattern_ops", False),
    ],
)
def test_what_in_an_expression_is_the_column(expression: str, name: str, sure: bool) -> None:
    assert mentions(expression, name) and is_unambiguous(expression, name) is sure


def test_only_the_name_is_replaced() -> None:
    text = '  (a||\'a\' /* a */ || "a" || x."A")'
    assert renamed(text, "a", 'q"') == '  ("q"""||\'a\' /* a */ || "q""" || x."A")'
