"""Table states find tables by name and by type as a look at each of them does."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

from hypothesis import given
from hypothesis import strategies as st

from airflow_ddlrepl.adapt.plan_model import TablePlan
from airflow_ddlrepl.adapt.program.plan_memo import PlanMemo
from airflow_ddlrepl.adapt.program.table_states import THERE, TableStates, types_elsewhere
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.model.types import DataType, TypeDefinition, TypeKind
from tests.support import shapes

NAMES = [TableName("public", name) for name in "abc"]
MOODS = [TypeDefinition(7, "public", "mood", TypeKind.ENUM, labels) for labels in (("a",), ("a", "b"))]
SIZES = [TypeDefinition(8, "public", "size", TypeKind.ENUM, labels) for labels in (("s",), ("s", "l"))]
COLUMN = Column(1, "id", DataType("integer", "pg_catalog", "int4", id=23))

states = st.builds(
    lambda i, name, mood, size, status: TableState(
        i, name, Table(i, name, (COLUMN,), types=tuple(filter(None, (mood, size)))), status
    ),
    st.integers(1, 6),
    st.sampled_from(NAMES),
    st.sampled_from([None, *MOODS]),
    st.sampled_from([None, *SIZES]),
    st.sampled_from(TableStatus),
)
writes = st.lists(st.one_of(states, st.integers(1, 6)), max_size=20)


def played(changes: list[TableState | int]) -> TableStates:
    """Tables stored, and those of a number removed."""
    found = TableStates()
    for change in changes:
        if isinstance(change, int):
            found.pop(change, None)
        else:
            found[change.table_id] = change
    return found


@given(writes)
def test_what_is_found_is_what_a_look_at_each_table_finds(changes: list[TableState | int]) -> None:
    found = played(changes)
    for name in NAMES:
        assert found.called(name) == [s for s in found.values() if s.name == name]
    for now in (MOODS[0], SIZES[1]):
        others = [s for s in found.values() if any(t.id == now.id and t != now for t in s.shape.types)]
        assert found.with_other([now]) == others


@given(writes, states)
def test_types_of_other_tables_are_those_at_the_target(changes: list[TableState | int], own: TableState) -> None:
    found = played(changes)
    ids = {of.id for of in own.shape.types}
    others = [s for s in found.values() if s.table_id != own.table_id and s.state in THERE]
    expected = [of for s in others for of in s.shape.types if of.id in ids]
    for type_id in ids:
        of_type = [of for of in types_elsewhere(own, None, found) if of.id == type_id]
        assert of_type == list(dict.fromkeys(of for of in expected if of.id == type_id))


def test_a_table_that_was_removed_is_found_no_more() -> None:
    one = TableState(1, NAMES[0], Table(1, NAMES[0], (COLUMN,), types=(MOODS[0],)))
    found = TableStates({1: one})
    assert found.called(NAMES[0]) == [one] and found.with_other([MOODS[1]]) == [one]
    found[1] = replace(one, name=NAMES[1])
    assert found.called(NAMES[0]) == [] and found.called(NAMES[1])
    del found[1]
    assert found.called(NAMES[1]) == [] and found.with_other([MOODS[1]]) == [] and len(found) == 0


@given(shapes.tables())
def test_a_shape_as_json_is_what_the_standard_library_makes_of_it(shape: Table) -> None:
    wanted = asdict(shape)
    for of in (*(column["type"] for column in wanted["columns"]), *wanted["types"]):
        of["oid"] = of.pop("id")  # what it has been called in every stored shape
        if "modifier" in of:
            of["typmod"] = of.pop("modifier")
    assert shape.to_json() == wanted
    assert Table.from_json(json.loads(json.dumps(shape.to_json()))) == shape


def test_a_build_takes_plans_of_the_last_one_as_long_as_it_goes_the_same_way() -> None:
    memo = PlanMemo()
    first, second = (Event(EventKind.DDL, LogKey(Position(lsn), 0), 1, 0) for lsn in (1, 2))
    made: list[str] = []

    def make(before: TableState | None, new: Table | None, event: Event, states: object, about: str) -> TablePlan:
        made.append(about)
        return TablePlan(NAMES[0], NAMES[0], (), (), (), (), None)

    def build(*calls: tuple[Event, str], suspended: int = 0) -> list[str]:
        """The plans that are made, and not taken from the last build."""
        made.clear()
        memo.begin(suspended)
        for event, about in calls:
            memo.planned(make, (None, None, event), {}, about)
        return list(made)

    assert build((first, "a"), (second, "b")) == ["a", "b"]
    assert build((first, "a"), (second, "b")) == []
    assert build((first, "a")) == []
    assert build((first, "a"), (second, "c"), (second, "d")) == ["c", "d"]
    assert build((second, "a"), (second, "c"), (second, "d")) == ["a", "c", "d"], "after another one nothing is known"
    assert build((second, "a"), suspended=1) == ["a"]
