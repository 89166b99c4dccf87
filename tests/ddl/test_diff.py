"""Laws of schema changes: applied one by one they lead from one shape to the other, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.base.edit import comparable, renames_in_order
from airflow_ddlrepl.ddl.columns.change_generated import ChangeGenerated
from airflow_ddlrepl.ddl.columns.change_type import ChangeType
from airflow_ddlrepl.ddl.columns.column_names import mentions
from airflow_ddlrepl.ddl.columns.drop_column import DropColumn
from airflow_ddlrepl.ddl.diff import diff as diff_of
from airflow_ddlrepl.ddl.opaque import Opaque
from airflow_ddlrepl.ddl.types.type_edits import edits
from airflow_ddlrepl.engines.postgres.types.type_system import POSTGRES_TYPES
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import TypeDefinition, TypeKind
from tests.support.shapes import PLAIN_TYPES, apply_all, tables

diff = partial(diff_of, types=POSTGRES_TYPES)


@given(tables(), tables())
@settings(max_examples=60, deadline=None)
def test_applying_what_was_spotted_gives_the_new_shape(old: Table, new: Table) -> None:
    after = apply_all(diff(old, new), old)
    assert after is not None and comparable(after) == comparable(new)


@given(tables())
@settings(deadline=None)
def test_nothing_is_spotted_where_nothing_changed(table: Table) -> None:
    assert diff(table, table) == ()
    assert diff(table, Table.from_json(table.to_json())) == ()


@given(tables(), tables())
@settings(max_examples=60, deadline=None)
def test_no_step_takes_a_name_that_is_in_use(old: Table, new: Table) -> None:
    shape: Table | None = old
    for change in diff(old, new):
        shape = change.apply(shape)
        assert shape is not None
        names = [c.name for c in shape.columns]
        assert len(set(names)) == len(names), change


@given(tables(1), tables(2))
@settings(deadline=None)
def test_another_identity_is_another_table(old: Table, new: Table) -> None:
    assert [c.kind for c in diff(old, new)] == ["drop_table", "create_table"]
    assert apply_all(diff(old, new), old) == new
    assert [c.kind for c in diff(None, new)] == ["create_table"]
    assert apply_all(diff(old, None), old) is None


@given(tables(), tables())
@settings(deadline=None)
def test_columns_are_matched_by_identity(old: Table, new: Table) -> None:
    found = diff(old, new)
    added = {c.column.id for c in found if c.kind == "add_column"}  # type: ignore[attr-defined]
    assert added == {c.id for c in new.columns} - {c.id for c in old.columns}


def test_what_no_kind_explains_is_opaque() -> None:
    old = Table(1, TableName("s", "t"), (), types=(TypeDefinition(5, "s", "d", TypeKind.DOMAIN, base="integer"),))
    new = old.with_(types=(replace(old.types[0], base="text"),))
    assert diff(old, new) == (Opaque(("types",), new),)


@st.composite
def computed(draw: st.DrawFn) -> Table:
    """Plain columns, and generated ones that are made of some of them, in any order."""
    ids = draw(st.lists(st.integers(1, 8), unique=True, min_size=1))
    names = dict(zip(ids, draw(st.permutations(["a", "b", "c", "d", "e", "f", "g", "h"])), strict=False))
    plain = draw(st.sets(st.sampled_from(ids), min_size=1))
    columns = []
    for i in sorted(ids):
        column = Column(i, names[i], draw(st.sampled_from(PLAIN_TYPES)))
        if i not in plain:
            needed = draw(st.sets(st.sampled_from([names[p] for p in sorted(plain)]), min_size=1))
            how = draw(st.sampled_from(["stored", "virtual"]))
            column = replace(column, generated=how, default=" + ".join(sorted(needed)))
        columns.append(column)
    return Table(1, TableName("public", "t"), tuple(columns))


@given(computed(), computed())
@settings(max_examples=3 * settings().max_examples)
def test_expressions_have_their_columns_at_every_step(old: Table, new: Table) -> None:
    """What PostgreSQL demands: none is dropped, retyped or computed that another one is computed from."""
    shape = old
    for change in diff(old, new):
        if isinstance(change, DropColumn):
            assert not _is_needed(shape, change.column.name), change
        elif isinstance(change, ChangeType) or (isinstance(change, ChangeGenerated) and change.generated):
            assert not _is_needed(shape, shape.column(change.id).name), change
        shape = change.apply(shape)  # type: ignore[assignment]
        plain = {c.name for c in shape.columns if not c.generated}
        assert all(set((c.default or "").replace('"', "").split(" + ")) <= plain for c in _computed(shape)), change
    assert comparable(shape) == comparable(new)


def _computed(shape: Table) -> list[Column]:
    return [column for column in shape.columns if column.generated]


def _is_needed(shape: Table, name: str) -> bool:
    return any(mentions(column.default or "", name) for column in _computed(shape))


@given(st.permutations(["a", "b", "c", "d", "e"]))
def test_any_permutation_of_names_can_be_made(names: list[str]) -> None:
    table_state = dict(enumerate(["a", "b", "c", "d", "e"]))
    for i, old, new in renames_in_order(
        {i: (table_state[i], names[i]) for i in table_state}, frozenset(table_state.values())
    ):
        assert table_state[i] == old and new not in table_state.values()
        table_state[i] = new
    assert list(table_state.values()) == names


@pytest.mark.parametrize(
    "renames",
    [
        {1: ("a", "c"), 2: ("b", "c")},
        {1: ("a", "b")},
        {1: ("a", "b"), 2: ("b", "b")},
        {1: ("c", "a"), 2: ("a", "b")},
        {1: ("a", "a"), 2: ("a", "a")},
        {1: ("a", "c"), 2: ("c", "c")},
    ],
)
def test_two_can_not_end_under_one_name(renames: dict[int, tuple[str, str]]) -> None:
    with pytest.raises(Unsupported, match="ADP-112"):
        renames_in_order(renames, frozenset("ab"))


LABELS = st.lists(st.sampled_from("abcdef"), unique=True, min_size=1).map(tuple)


@given(LABELS, LABELS)
def test_edits_of_an_enum_lead_to_its_labels(old: tuple[str, ...], new: tuple[str, ...]) -> None:
    of = TypeDefinition(1, "s", "e", TypeKind.ENUM)
    found = edits(replace(of, labels=old), replace(of, labels=new))
    if found is None:
        return
    labels = list(old)
    for edit in found:
        if type(edit).__name__ == "RenameLabel":
            labels[labels.index(edit.old)] = edit.new  # type: ignore[union-attr]
        else:
            at = labels.index(edit.beside) if edit.place else 0  # type: ignore[union-attr]
            labels.insert(at + (edit.place == "after"), edit.label)  # type: ignore[union-attr]
    assert tuple(labels) == new


@pytest.mark.parametrize("name", ["x", "Ü ; --"])
def test_a_swap_goes_through_a_third_name(name: str) -> None:
    columns = {n: i for i, n in enumerate(("a", name), 1)}
    renames = renames_in_order({1: ("a", name), 2: (name, "a")}, frozenset(columns))
    assert [r[2] for r in renames] == ["ddlrepl_swap_1", "a", name]


@given(tables(), tables())
@settings(max_examples=60, deadline=None)
def test_tables_with_the_same_columns_share_no_more_than_these(old: Table, new: Table) -> None:
    """The changes between columns are found once; what else differs between two tables is found each time."""
    plain = [one.with_(types=(), partition=None, partition_key=None, key=None, second_key=None) for one in (old, new)]
    before = plain[0]
    after = before.with_(columns=plain[1].columns)
    known = diff(before, after)
    other = TableName("other", "table")
    assert diff(before.with_(id=7, name=other), after.with_(id=7, name=other)) == known or "opaque" in kinds(known)
    assert kinds(diff(before, after.with_(unlogged=not after.unlogged))).count("change_logging") == 1
    assert kinds(diff(before, after.with_(name=other))).count("rename_table") == 1
    assert diff(before, after) == known


def kinds(changes: Iterable[SchemaChange]) -> list[str]:
    return [change.kind for change in changes]
