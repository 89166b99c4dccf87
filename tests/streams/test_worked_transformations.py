"""The tables of the documentation that say which declarative transformations are performed, and in which order."""

from __future__ import annotations

import re
from typing import Any

import pytest

from airflow_ddlrepl.streams.messages import RowLcr
from airflow_ddlrepl.streams.transformations.declared import (
    AddColumn,
    Declared,
    DeleteColumn,
    KeepColumns,
    RenameColumn,
    RenameSchema,
    RenameTable,
    in_order,
)
from tests.streams.making import row
from tests.streams.test_transformations import ROW, Call, add, delete, keep, rename_column, rename_schema, rename_table
from tests.streams.test_transformations import call as call_of
from tests.streams.test_transformations import result as transformed

TABLES = {
    "ST-Z-04": """
        1 Keep columns - -
        2 Delete column Delete column address from row LCR Yes
        3 Rename column - -
        4 Add column Add column address to row LCR Yes
        5 Rename table - -
        6 Rename schema - -
        """,
    "ST-Z-05": """
        1 Keep columns - -
        2 Delete column - -
        3 Rename column - -
        4 Add column - -
        5 Rename table Rename table john.customers to sue.clients Yes
        6 Rename schema Rename schema sue to mary Yes
        """,
    "ST-Z-06": """
        1 Keep columns - -
        2 Delete column - -
        3 Rename column - -
        4 Add column - -
        5 Rename table Rename table john.customers to sue.clients Yes
        6 Rename schema Rename schema john to mary No
        """,
}
"""Step number, type, details, performed? One table for each worked example."""
RESULTS = {"ST-Z-04": "john.customers", "ST-Z-05": "mary.clients", "ST-Z-06": "sue.clients"}
KINDS: dict[str, type[Declared]] = {
    "Keep columns": KeepColumns,
    "Delete column": DeleteColumn,
    "Rename column": RenameColumn,
    "Add column": AddColumn,
    "Rename table": RenameTable,
    "Rename schema": RenameSchema,
}
_STEP = re.compile(rf"(\d) ({'|'.join(KINDS)}) (.*) (-|Yes|No)")


def call(details: str) -> Call:
    """The call that declares what the details of a step say."""
    match details.split():
        case ["Delete", "column", name, *_]:
            return delete(name)
        case ["Add", "column", name, *_]:
            return add(name, "added")
        case ["Rename", "table", old, "to", new]:
            return rename_table(old, new)
        case ["Rename", "schema", old, "to", new]:
            return rename_schema(old, new)
    raise ValueError(details)


def name(lcr: RowLcr) -> str:
    return f"{lcr.owner}.{lcr.name}".lower()


@pytest.mark.parametrize("example", [pytest.param(one, marks=pytest.mark.req(one, "ST-Z-02")) for one in TABLES])
def test_each_step_is_performed_where_the_table_says_so(example: str) -> None:
    """Each step changes what the steps before it have left, or does not; the calls come in any order."""
    steps = [_STEP.fullmatch(line.strip()) for line in TABLES[example].strip().splitlines()]
    assert [one[2] for one in steps if one] == [*KINDS]
    declared = [(call(one[3]), one[4] == "Yes") for one in steps if one and one[3] != "-"]
    assert len(declared) == 2
    left = ROW
    for number, (_, is_performed) in enumerate(declared, 1):
        before, left = left, transformed(ROW, *(one for one, _ in declared[:number]))
        assert (left != before) == is_performed, declared[number - 1]
    assert left == transformed(ROW, *(one for one, _ in reversed(declared)))
    assert name(left) == RESULTS[example]


REVERSED = """
    Keep columns with step number 6
    Delete column with step number 5
    Rename column with step number 4
    Add column with step number 3
    Rename table with step number 2
    Rename schema with step number 1
    """


@pytest.mark.req("ST-Z-07", "ST-Z-10")
def test_the_reversed_order() -> None:
    """The schema is renamed first. Columns are kept last: one that is added before is not among them."""
    found = re.findall(r"(\w+ \w+) with step number (\d)", REVERSED)
    steps = {kind: int(number) for kind, number in found}
    assert [*steps] == [*KINDS]
    of_clients: dict[str, Any] = {"table_name": "sue.clients"}
    calls = {
        "Keep columns": call_of("keep_columns", column_list="id,street", **of_clients),
        "Delete column": call_of("delete_column", column_name="name", **of_clients),
        "Rename column": call_of("rename_column", from_column_name="address", to_column_name="street", **of_clients),
        "Add column": call_of("add_column", column_name="city", column_value="Rome", **of_clients),
        "Rename table": rename_table("mary.customers", "sue.clients"),
        "Rename schema": rename_schema("john", "mary"),
    }
    for kind, step in steps.items():
        (parameters,) = calls[kind].values()
        parameters["step_number"] = step
    left = transformed(ROW, *calls.values())
    assert (name(left), left.old, left.new) == (
        "sue.clients",
        {"ID": 1, "STREET": "old"},
        {"ID": 1, "STREET": "new"},
    )
    with_city = transformed(ROW, *(one for kind, one in calls.items() if kind != "Keep columns"))
    assert with_city.new == {"ID": 1, "STREET": "new", "CITY": "Rome"}


@pytest.mark.req("ST-Z-08", "ST-Z-09")
def test_a_transformation_without_a_step_number_has_0_and_equal_numbers_keep_the_default_order() -> None:
    ones: list[Declared] = [AddColumn("T.T", "D", 1, step=1), DeleteColumn("T.T", "B", step=1), RenameSchema("T", "S")]
    assert [type(one) for one in in_order(ones)] == [RenameSchema, DeleteColumn, AddColumn]
    assert RenameSchema("T", "S").step == 0


ADDED_OR_REMOVED = {
    "ADD_COLUMN adds a column to a row LCR": (add("city", "Rome"), {"ID", "ADDRESS", "NAME", "CITY"}),
    "DELETE_COLUMN deletes a column from a row LCR": (delete("address"), {"ID", "NAME"}),
    "KEEP_COLUMNS removes columns that are not in the list": (keep("id", "address"), {"ID", "ADDRESS"}),
    "RENAME_COLUMN renames a column in a row LCR": (rename_column("address", "street"), {"ID", "STREET", "NAME"}),
    "RENAME_SCHEMA renames the schema in a row LCR": (rename_schema("john", "sue"), "sue.customers"),
    "RENAME_TABLE renames the table in a row LCR": (rename_table("john.customers", "john.clients"), "john.clients"),
}


@pytest.mark.req("ST-X-08", *(f"ST-X-0{number}" for number in range(2, 8)))
@pytest.mark.parametrize("what", ADDED_OR_REMOVED)
def test_each_procedure_adds_a_transformation_or_removes_it(what: str) -> None:
    declared, wanted = ADDED_OR_REMOVED[what]
    ((procedure, parameters),) = declared.items()
    assert procedure.upper() == what.split()[0]
    left = transformed(ROW, declared)
    assert wanted == (set(left.new) if isinstance(wanted, set) else name(left))
    assert transformed(ROW, declared, {procedure: {**parameters, "operation": "REMOVE"}}) == ROW


@pytest.mark.req("ST-X-01", "ST-X-09")
def test_a_rule_that_is_not_true_leaves_a_row_lcr_to_the_rules_that_are() -> None:
    other = row("john.orders", "UPDATE", {"ID": 1, "ADDRESS": "old"}, {"ID": 1, "ADDRESS": "new"})
    assert transformed(other, delete("address"), rename_table("john.customers", "sue.clients")) == other
