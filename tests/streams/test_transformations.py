"""Declarative transformations of row LCRs: what each does, and in which order a rule's are done."""

from __future__ import annotations

from dataclasses import fields
from decimal import Decimal
from itertools import permutations
from typing import Any

import pytest

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.streams.messages import RowLcr
from airflow_ddlrepl.streams.procedures.environment import Environment
from airflow_ddlrepl.streams.rules.decide import decide
from airflow_ddlrepl.streams.rules.rule import ActionContext
from airflow_ddlrepl.streams.rules.transform import transform
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
from tests.streams.making import client, made, row

Call = dict[str, dict[str, Any]]
RULES: list[Call] = [
    {
        "add_schema_rules": {
            "schema_name": "john", "streams_type": "apply", "streams_name": "a", "include_ddl": True,
            "dml_rule_name": "r", "ddl_rule_name": "d",
        }
    }
]  # fmt: skip


def call(procedure: str, **parameters: Any) -> Call:
    return {procedure: {"rule_name": "r", **parameters}}


def delete(column: str, **more: Any) -> Call:
    return call("delete_column", table_name="john.customers", column_name=column, **more)


def add(column: str, value: Any, **more: Any) -> Call:
    return call("add_column", table_name="john.customers", column_name=column, column_value=value, **more)


def rename_table(from_: str, to: str, **more: Any) -> Call:
    return call("rename_table", from_table_name=from_, to_table_name=to, **more)


def rename_schema(from_: str, to: str, **more: Any) -> Call:
    return call("rename_schema", from_schema_name=from_, to_schema_name=to, **more)


def rename_column(from_: str, to: str, **more: Any) -> Call:
    return call("rename_column", table_name="john.customers", from_column_name=from_, to_column_name=to, **more)


def keep(*columns: str, **more: Any) -> Call:
    return call("keep_columns", table_name="john.customers", column_list=columns, **more)


def environment(*calls: Call) -> Environment:
    return made(*RULES, *calls)


def result(lcr: RowLcr, *calls: Call) -> RowLcr:
    of = client(environment(*calls), "apply", "a")
    return transform(lcr, decide(of, lcr))


ROW = row("john.customers", "UPDATE", {"ID": 1, "ADDRESS": "old"}, {"ID": 1, "ADDRESS": "new", "NAME": "x"})


def table(lcr: RowLcr) -> str:
    return f"{lcr.owner}.{lcr.name}"


@pytest.mark.req("ST-X-02", "ST-X-03", "ST-X-04", "ST-X-05")
def test_columns() -> None:
    found = result(ROW, add("city", "Rome"))
    assert (found.old, found.new) == (ROW.old, {**ROW.new, "CITY": "Rome"})
    assert result(ROW, add("n", 5, value_type="*")).old == {**ROW.old, "N": Decimal(5)}
    found = result(ROW, delete("address"))
    assert (found.old, found.new) == ({"ID": 1}, {"ID": 1, "NAME": "x"})
    found = result(ROW, keep("id", "name"))
    assert (found.old, found.new) == ({"ID": 1}, {"ID": 1, "NAME": "x"})
    assert result(ROW, call("keep_columns", table_name="john.customers", column_list="id, name")) == found
    found = result(ROW, rename_column("address", "street"))
    assert (found.old, found.new) == ({"ID": 1, "STREET": "old"}, {"ID": 1, "STREET": "new", "NAME": "x"})


@pytest.mark.parametrize(("value_type", "old", "new"), [("OLD", 1, 3), ("NEW", 2, 2), ("*", 1, 2)])
def test_the_images_that_a_transformation_is_for(value_type: str, old: int, new: int) -> None:
    found = result(ROW, delete("address", value_type=value_type))
    assert (len(found.old), len(found.new)) == (old, new)


def test_an_image_that_a_change_does_not_have_is_not_made() -> None:
    insert = row("john.customers", "INSERT", {}, {"ID": 1})
    assert result(insert, add("n", 5, value_type="*")).old == {}
    assert result(row("john.customers", "DELETE", {"ID": 1}), add("n", 5)).new == {}


@pytest.mark.req("ST-X-06", "ST-X-07")
def test_names_of_tables_and_schemas() -> None:
    assert table(result(ROW, rename_schema("john", "sue"))) == "SUE.CUSTOMERS"
    assert table(result(ROW, rename_table("john.customers", "sue.clients"))) == "SUE.CLIENTS"
    assert result(ROW, rename_schema("oe", "sue"), rename_table("john.orders", "sue.x")) == ROW


def test_a_transformation_is_for_one_table() -> None:
    other = row("john.orders", "INSERT", {}, {"ADDRESS": 1})
    assert result(other, delete("address"), add("x", 1), keep("id"), rename_column("address", "b")) == other


@pytest.mark.req("ST-X-08", "ST-X-09")
def test_a_transformation_is_added_to_a_rule_and_removed() -> None:
    assert result(ROW, delete("address"), delete("address", operation="REMOVE")) == ROW
    with pytest.raises(RuleError, match="rule R does not have this transformation") as found:
        environment(delete("address"), delete("name", operation="remove"))
    assert found.value.code == "RUL-123"
    other = {
        "add_table_rules": {"table_name": "john.t", "streams_type": "apply", "streams_name": "b", "dml_rule_name": "s"}
    }
    both = made(*RULES, other, rename_schema("john", "sue"))
    lcrs = [row("john.t"), ROW]
    for name, wanted in (("a", ["SUE.T", "SUE.CUSTOMERS"]), ("b", ["JOHN.T"])):
        of = client(both, "apply", name)
        found_names = [table(transform(one, verdict)) for one in lcrs if (verdict := decide(of, one)).is_taken]
        assert found_names == wanted


@pytest.mark.req("ST-X-11")
def test_a_rule_for_ddl_has_no_declarative_transformation() -> None:
    with pytest.raises(RuleError, match="rename_schema: rule D is for DDL") as found:
        environment({"rename_schema": {"rule_name": "d", "from_schema_name": "a", "to_schema_name": "b"}})
    assert found.value.code == "RUL-120"


ALL: list[Declared] = [
    KeepColumns("T.T", ("A",)),
    DeleteColumn("T.T", "B"),
    RenameColumn("T.T", "A", "C"),
    AddColumn("T.T", "D", 1),
    RenameTable("T.T", "T.U"),
    RenameSchema("T", "S"),
]


@pytest.mark.req("ST-Z-02")
def test_the_default_order() -> None:
    for shuffled in list(permutations(ALL))[::37]:
        assert in_order(shuffled) == ALL


@pytest.mark.req("ST-Z-03")
def test_each_step_works_on_what_those_before_have_made() -> None:
    assert result(ROW, add("address", "more"), rename_column("address", "b")).new == {
        "ID": 1, "B": "new", "NAME": "x", "ADDRESS": "more",
    }  # fmt: skip


@pytest.mark.req("ST-Z-04")
def test_worked_example_1() -> None:
    found = result(ROW, delete("address"), add("address", "added"))
    assert (found.old, found.new["ADDRESS"]) == ({"ID": 1}, "added")


@pytest.mark.req("ST-Z-05")
def test_worked_example_2() -> None:
    found = result(ROW, rename_table("john.customers", "sue.clients"), rename_schema("sue", "mary"))
    assert table(found) == "MARY.CLIENTS"


@pytest.mark.req("ST-Z-06")
def test_worked_example_3() -> None:
    found = result(ROW, rename_table("john.customers", "sue.clients"), rename_schema("john", "mary"))
    assert table(found) == "SUE.CLIENTS"


@pytest.mark.req("ST-Z-07", "ST-Z-08", "ST-Z-09", "ST-Z-10")
def test_step_numbers() -> None:
    steps = {KeepColumns: 6, DeleteColumn: 5, RenameColumn: 4, AddColumn: 3, RenameTable: 2, RenameSchema: 1}
    reversed_ = [type(one)(**{**_fields(one), "step": steps[type(one)]}) for one in ALL]
    assert [type(one) for one in in_order(reversed_)] == [type(one) for one in reversed(ALL)]
    late, first = RenameTable("T.T", "T.U", step=1), DeleteColumn("T.T", "B", step=2)
    assert in_order([first, late]) == [late, first]
    assert in_order([late, ALL[5]]) == [ALL[5], late]
    assert [one.step for one in environment(rename_table("a.b", "a.c")).rule("r").action.declared] == [0]
    same = [AddColumn("T.T", "D", 1, step=2), DeleteColumn("T.T", "B", step=2)]
    assert in_order(same) == same[::-1]


def _fields(one: Declared) -> dict[str, Any]:
    return {field.name: getattr(one, field.name) for field in fields(one)}


@pytest.mark.req("ST-Z-10")
def test_the_worked_examples_with_reversed_steps() -> None:
    """G-09: the schema is renamed first."""
    first = rename_table("john.customers", "sue.clients", step_number=2)
    assert table(result(ROW, first, rename_schema("sue", "mary", step_number=1))) == "SUE.CLIENTS"
    assert table(result(ROW, first, rename_schema("john", "mary", step_number=1))) == "MARY.CUSTOMERS"


def test_a_column_that_would_be_there_twice() -> None:
    for calls in (
        [add("address", 1)],
        [rename_column("name", "address")],
        [add("address", 1, step_number=1), delete("address", step_number=2)],
    ):
        with pytest.raises(RuleError, match=r"the row LCR of JOHN\.CUSTOMERS has a column ADDRESS already") as found:
            result(ROW, *calls)
        assert found.value.code == "RUL-122"


def test_columns_that_are_not_there_change_nothing() -> None:
    assert result(ROW, delete("zip"), rename_column("zip", "code")) == ROW
    assert result(ROW, keep("id", "zip")).new == {"ID": 1}


@pytest.mark.req("ST-Z-12")
def test_a_negative_step_number() -> None:
    with pytest.raises(ValueError, match="greater than or equal to 0"):
        environment(delete("address", step_number=-1))
    with pytest.raises(RuleError, match="is negative") as found:
        DeleteColumn("T.T", "B", step=-1)
    assert found.value.code == "RUL-121"


def test_a_function_of_time_is_refused() -> None:
    with pytest.raises(RuleError, match="column_function SYSDATE gives another value") as found:
        environment(add("at", None, column_function="SYSDATE"))
    assert found.value.code == "RUL-124"


NAMES = [(False, "STREAMS$_TRANSFORM_FUNCTION"), (True, "STREAMS$_ARRAY_TRANS_FUNCTION")]


@pytest.mark.req("ST-X-30", "ST-X-31")
@pytest.mark.parametrize(("is_array", "pair"), NAMES)
def test_a_custom_function_stands_in_the_action_context(is_array: bool, pair: str) -> None:
    capture = {"add_table_rules": {"table_name": "a.t", "streams_type": "capture", "dml_rule_name": "r"}}
    of = call("set_rule_transform_function", transform_function="own.mask", is_array=is_array)
    assert dict(made(capture, of).rule("r").action.pairs) == {pair: "own.mask"}
    assert dict(made(capture, of, call("set_rule_transform_function")).rule("r").action.pairs) == {}


@pytest.mark.req("ST-X-14")
def test_functions_that_give_many_messages_are_for_captures() -> None:
    with pytest.raises(RuleError, match="takes one message for one") as found:
        environment(call("set_rule_transform_function", transform_function="own.split", is_array=True))
    assert found.value.code == "RUL-125"


@pytest.mark.req("ST-X-34", "ST-X-35")
def test_reserved_names_of_an_action_context() -> None:
    with pytest.raises(RuleError, match=r"STREAMS\$_OTHER in an action context") as found:
        ActionContext().with_pair("STREAMS$_OTHER", 1)
    assert found.value.code == "RUL-114"
    assert not ActionContext().with_pair("mine", 1).changes_messages


@pytest.mark.req("ST-X-01", "ST-X-76")
def test_rules_that_are_not_true_or_negative_transform_nothing() -> None:
    found = environment(rename_schema("john", "sue"))
    of = client(found, "apply", "a")
    other = row("oe.t")
    assert transform(other, decide(of, other)) == other
    rule = {"schema_name": "john", "streams_type": "apply", "streams_name": "n", "dml_rule_name": "r"}
    excluded = {**rule, "inclusion_rule": False, "include_tagged_lcr": True}
    negative = made({"add_schema_rules": excluded}, rename_schema("john", "sue"))
    verdict = decide(client(negative, "apply", "n"), ROW)
    assert (verdict.is_taken, transform(ROW, verdict)) == (False, ROW)


@pytest.mark.req("ST-X-79")
def test_of_several_rules_with_transformations_the_first_one_counts() -> None:
    table_rule = {"table_name": "john.customers", "streams_type": "apply", "streams_name": "a", "dml_rule_name": "s"}
    second = {"rename_schema": {"rule_name": "s", "from_schema_name": "john", "to_schema_name": "mary"}}
    found = made(*RULES, {"add_table_rules": table_rule}, rename_schema("john", "sue"), second)
    verdict = decide(client(found, "apply", "a"), ROW)
    assert table(transform(ROW, verdict)) == "SUE.CUSTOMERS"
    assert verdict.warnings == ("R is true, and so is S with another action: the first one's is done",)
    alone = made(*RULES, {"add_table_rules": table_rule}, second)
    verdict = decide(client(alone, "apply", "a"), ROW)
    assert (table(transform(ROW, verdict)), verdict.warnings) == ("MARY.CUSTOMERS", ())


def test_row_migration_comes_before_declared_transformations() -> None:
    subset = {"table_name": "john.customers", "dml_condition": "id = 1", "streams_name": "a", "insert_rule_name": "r"}
    lcr = row("john.customers", "UPDATE", {"ID": 2, "A": "x"}, {"ID": 1})
    of = client(made({"add_subset_rules": subset}, rename_column("id", "number")), "apply", "a")
    found = transform(lcr, decide(of, lcr))
    assert (found.command, found.new) == ("INSERT", {"NUMBER": 1, "A": "x"})
