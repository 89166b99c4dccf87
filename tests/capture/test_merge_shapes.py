"""Laws of putting two changes of a table together that did not see each other."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings

from airflow_ddlrepl.capture.merge_shapes import merge
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Key, Table
from airflow_ddlrepl.model.types import Attribute, DataType, TypeDefinition, TypeKind
from tests.support.shapes import tables

INT = DataType("integer", "pg_catalog", "int4", id=23)
TEXT = DataType("text", "pg_catalog", "text", id=25)
MOOD = DataType("public.mood", "public", "mood", TypeKind.ENUM, id=20001)
MOODS = DataType("public.mood[]", "public", "mood", TypeKind.ARRAY, id=20000)
DEFINED = TypeDefinition(20001, "public", "mood", TypeKind.ENUM, labels=("a",))
BASE = Table(1, TableName("public", "t"), (Column(1, "id", INT), Column(2, "m", MOOD)), types=(DEFINED,))


@given(tables(), tables())
@settings(deadline=None)
def test_a_change_beside_none_is_that_change(base: Table, changed: Table) -> None:
    assert merge(base, base, base) == base
    assert merge(base, changed, base) == changed
    assert _unordered(merge(base, base, changed)) == _unordered(changed)


@given(tables(), tables())
@settings(deadline=None)
def test_the_same_change_on_both_sides_comes_once(base: Table, changed: Table) -> None:
    assert merge(base, changed, changed) == changed


def test_both_changes_survive() -> None:
    mine = BASE.with_(columns=(*BASE.columns, Column(3, "mine", TEXT)), key=Key((1,), "t_pkey", is_primary=True))
    first, second = BASE.columns
    theirs = BASE.with_(
        name=TableName("s", "u"), columns=(replace(first, name="number", nullable=False), Column(4, "theirs", INT))
    )
    merged = merge(BASE, mine, theirs)
    assert merged.name == TableName("s", "u") and merged.key == mine.key
    assert [(c.id, c.name, c.nullable) for c in merged.columns] == [
        (1, "number", False),
        (3, "mine", True),
        (4, "theirs", True),
    ]
    assert second not in merged.columns


def test_what_both_changed_is_the_later_ones() -> None:
    assert merge(BASE, _named("later"), _named("earlier")).name.name == "later"


@pytest.mark.parametrize("is_mine", [True, False])
def test_a_type_that_moves_is_called_by_its_new_name_where_the_other_side_begins_to_use_it(is_mine: bool) -> None:
    moved = replace(DEFINED, schema='S "2"', name="humour")
    spelled = replace(MOOD, text='"S ""2""".humour', schema='S "2"', name="humour")
    mover = BASE.with_(columns=(BASE.columns[0], replace(BASE.columns[1], type=spelled)), types=(moved,))
    pair = TypeDefinition(20003, "public", "pair", TypeKind.COMPOSITE, attributes=(Attribute(1, "a", "public.mood"),))
    user = BASE.with_(columns=(*BASE.columns, Column(3, "ms", MOODS)), types=(DEFINED, pair))
    merged = merge(BASE, mover, user) if is_mine else merge(BASE, user, mover)
    assert [c.type.text for c in merged.columns] == ["integer", '"S ""2""".humour', '"S ""2""".humour[]']
    assert merged.columns[2].type.schema == 'S "2"'
    assert merged.types == (moved, replace(pair, attributes=(Attribute(1, "a", '"S ""2""".humour'),)))


@pytest.mark.parametrize("is_mine", [True, False])
def test_a_type_stays_defined_when_one_side_drops_its_last_column_and_the_other_adds_one(is_mine: bool) -> None:
    dropper = BASE.with_(columns=BASE.columns[:1], types=())
    user = BASE.with_(columns=(*BASE.columns, Column(3, "again", MOOD)))
    merged = merge(BASE, dropper, user) if is_mine else merge(BASE, user, dropper)
    assert [c.name for c in merged.columns] == ["id", "again"]
    assert merged.types == (DEFINED,)


def test_what_a_new_type_is_made_of_stands_before_it() -> None:
    part = TypeDefinition(20004, "public", "part", TypeKind.ENUM, labels=("x",))
    pair = TypeDefinition(20003, "public", "pair", TypeKind.COMPOSITE, attributes=(Attribute(1, "a", "public.mood"),))
    wider = replace(pair, attributes=(*pair.attributes, Attribute(2, "b", "public.part")))
    base = BASE.with_(types=(DEFINED, pair))
    assert merge(base, base, base.with_(types=(DEFINED, part, wider))).types == (DEFINED, part, wider)


def _named(name: str) -> Table:
    return BASE.with_(name=TableName("public", name))


def _unordered(table: Table) -> Table:
    return table.with_(types=tuple(sorted(table.types, key=lambda t: t.id)))
