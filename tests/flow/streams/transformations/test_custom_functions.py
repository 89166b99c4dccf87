"""What custom functions of rules get, what they may give, and what becomes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from airflow_ddlrepl.engines import of_sources
from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.model.change import REPLACED, Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.notation.column_types import column_type
from airflow_ddlrepl.streams.queue.lcr_batch import LcrBatch, absent_bitmap
from airflow_ddlrepl.streams.queue.row_messages import batches_of, queued_rows
from airflow_ddlrepl.streams.rules.client import ClientKind
from tests.flow.streams import functions
from tests.flow.streams.test_stage import FACTS, RULE, SHAPE, TYPES, batch, stage, stage_of

VALUES = of_sources("postgresql://").values
TABLE = {"add_table_rules": {**RULE, "include_ddl": True}}


def called(name: str, *, is_array: bool = False, rule: str = "r") -> dict[str, Any]:
    return {
        "set_rule_transform_function": {
            "rule_name": rule, "transform_function": f"hr.{name}", "is_array": is_array,
        }
    }  # fmt: skip


def rows_after(name: str, *rows: dict[str, Any], is_array: bool = False, more: Any = ()) -> list[LcrBatch]:
    of = stage(TABLE, called(name, is_array=is_array), *more, **{name: name})
    return of.rows(batch(*rows), FACTS)


def contents(found: list[LcrBatch]) -> list[tuple[str, dict[str, Any]]]:
    """Table and new values of each row, without those that it does not have."""
    return [
        (f"{row.texts.owner}.{row.texts.name}", dict(row.texts.new))
        for one in found
        for row in queued_rows(one, FACTS, "dbs1", VALUES)
    ]


ROW = {"id": "1", "k": "2.50", "note": "Ann Lee"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("number_as_text", {**ROW, "k": "number 2.50", "at": None}, marks=pytest.mark.req("ST-X-16")),
        pytest.param("split", {"id": "1", "first": "Ann", "last": "Lee"}, marks=pytest.mark.req("ST-X-17")),
        pytest.param("joined", {"id": "1", "full": "2.50 Ann Lee"}, marks=pytest.mark.req("ST-X-18")),
        pytest.param("counted", {**ROW, "note": "ANN LEE", "at": None}, marks=pytest.mark.req("ST-X-19")),
    ],
)
def test_a_function_changes_a_row(name: str, expected: dict[str, Any]) -> None:
    assert contents(rows_after(name, ROW)) == [("hr.t", expected)]


@pytest.mark.req("ST-X-16")
@pytest.mark.parametrize(("column", "value", "kind"), [("k", "number 2.50", "text"), ("at", True, "boolean"),
                                                       ("at", "2024-01-31", None), ("k", "7", None)])  # fmt: skip
def test_a_column_gets_the_type_of_its_new_values(column: str, value: Any, kind: str | None) -> None:
    (row,) = queued_rows(batch(ROW), FACTS, "dbs1", VALUES)
    given = [replace(row.typed, new={**row.typed.new, column: value})]
    (found,) = batches_of(batch(ROW), [(row, given)], VALUES)
    assert found.shape.named(column).type == (column_type(kind) if kind else SHAPE.named(column).type)


@pytest.mark.req("ST-X-12", "ST-X-43", "ST-X-44")
@pytest.mark.parametrize(("name", "expected"), [("nothing", []), ("three", ["one", "two", "three"])])
def test_an_array_function_gives_any_number_of_messages_in_their_order(name: str, expected: list[str]) -> None:
    found = rows_after(name, ROW, is_array=True)
    assert [values["note"] for _, values in contents(found)] == expected
    assert [(lsn, seq) for one in found for lsn, seq in _keys(one)] == [(10, number) for number in range(len(expected))]


def _keys(one: LcrBatch) -> list[tuple[int, int]]:
    return list(zip(one.rows["lsn"].to_pylist(), one.rows["seq"].to_pylist(), strict=True))


@pytest.mark.req("ST-X-25", "ST-X-26")
def test_a_fresh_lcr_belongs_to_the_change_that_it_was_made_of() -> None:
    (found,) = rows_after("fresh", ROW)
    (row,) = queued_rows(found, FACTS, "dbs1", VALUES)
    assert (row.texts.owner, row.texts.name, dict(row.texts.new)) == ("made", "up", {"id": "1", "n": "1"})
    assert (row.typed.scn, row.typed.transaction_id, row.typed.source_database) == (10, "3", "dbs1")


@pytest.mark.req("ST-X-28", "ST-X-29")
@pytest.mark.parametrize(("name", "what"), [("as_message", "an LCR stays one"), ("as_ddl", "another kind of LCR")])
def test_a_row_change_stays_one(name: str, what: str) -> None:
    with pytest.raises(RuleError, match=what) as error:
        rows_after(name, ROW)
    assert error.value.code == "RUL-136"


@pytest.mark.req("ST-X-33", "ST-X-36", "ST-X-37")
def test_each_rule_calls_its_own_function_once_for_each_of_its_messages() -> None:
    def rule(command: str, name: str) -> dict[str, Any]:
        condition = f":lcr.get_command_type() = '{command}'"
        return {"add_table_rules": {**RULE, "dml_rule_name": name, "and_condition": condition}}

    functions.CALLS.clear()
    of = stage(
        rule("INSERT", "r1"), called("counted", rule="r1"), rule("UPDATE", "r2"), called("double", rule="r2"),
        counted="counted", double="double",
    )  # fmt: skip
    left = of.rows(
        batch(ROW, {**ROW, "op": "UPDATE", "old": ROW}, {**ROW, "op": "DELETE", "old": ROW}, {**ROW, "id": "2"}), FACTS
    )
    assert sorted((values["id"], values["k"], values["note"]) for _, values in contents(left)) == [
        ("1", "2.50", "ANN LEE"), ("1", "5.00", "Ann Lee"), ("2", "2.50", "ANN LEE"),
    ]  # fmt: skip
    assert functions.CALLS == {"INSERT hr.t": 2}


@pytest.mark.req("ST-X-24")
def test_rules_of_tables_do_what_a_rule_of_the_schema_does_until_a_table_comes() -> None:
    def left(level: str, about: dict[str, str], rows: LcrBatch) -> list[tuple[str, dict[str, Any]]]:
        rules = {"streams_type": "capture", "streams_name": "cap", "dml_rule_name": "r", **about}
        return contents(stage({f"add_{level}_rules": rules}, called("counted"), counted="counted").rows(rows, FACTS))

    new = replace(batch(ROW), layout=replace(batch(ROW).layout, name="new"))
    schema, table = ("schema", {"schema_name": "hr"}), ("table", {"table_name": "hr.t"})
    assert left(*schema, batch(ROW)) == left(*table, batch(ROW)) == [("hr.t", {**ROW, "note": "ANN LEE", "at": None})]
    assert left(*schema, new) == [("hr.new", {**ROW, "note": "ANN LEE", "at": None})] and left(*table, new) == []


@pytest.mark.req("ST-Z-01")
def test_row_migration_comes_first_then_declared_transformations_then_the_function() -> None:
    subset = {"table_name": "hr.t", "streams_type": "capture", "streams_name": "cap", "dml_condition": "k = 50"}
    rules = {"insert_rule_name": "i", "update_rule_name": "u", "delete_rule_name": "d"}
    renamed = {
        "rename_column": {
            "rule_name": "i", "table_name": "hr.t", "from_column_name": "k", "to_column_name": "dept",
        }
    }  # fmt: skip
    of = stage({"add_subset_rules": {**subset, **rules}}, renamed, called("counted", rule="i"), counted="counted")
    functions.CALLS.clear()
    old = {**ROW, "k": "80"}
    (left,) = of.rows(batch({**ROW, "k": "50", "op": "UPDATE", "old": old}), FACTS)
    assert functions.CALLS == {"INSERT hr.t": 1}
    assert contents([left]) == [("hr.t", {"id": "1", "dept": "50", "note": "ANN LEE", "at": None})]


@pytest.mark.req("ST-X-12")
@pytest.mark.parametrize("kind", ["propagation", "apply", "dequeue"])
def test_only_captures_have_array_functions_however_the_rule_gets_there(kind: str) -> None:
    """The function is set before the client uses the rule."""
    queues = {"source_queue": "q", "destination_queue": "q2", "rule_set_name": "rules"}
    rules = [
        {"create_rule_set": {"rule_set_name": "rules"}},
        {"create_rule": {"rule_name": "r", "condition": ":dml.get_object_name() = 't'"}},
        {"add_rule": {"rule_name": "r", "rule_set_name": "rules"}},
        called("twice", is_array=True),
    ]
    makes = {
        "propagation": [*rules, {"create_propagation": {"propagation_name": "c", **queues}}],
        "apply": [*rules, {"create_apply": {"queue_name": "q", "apply_name": "c", "rule_set_name": "rules"}}],
        "dequeue": [
            {"add_table_rules": {**RULE, "streams_type": "dequeue", "streams_name": "c"}},
            called("twice", is_array=True),
        ],
    }
    with pytest.raises(RuleError) as error:
        stage_of(ClientKind(kind), *makes[kind], twice="twice")
    assert error.value.code == "RUL-125"


@pytest.mark.req("ST-X-76")
def test_a_function_of_a_negative_rule_is_not_called() -> None:
    everything = {"add_global_rules": {"streams_type": "capture", "streams_name": "cap"}}
    negative = {"add_table_rules": {**RULE, "inclusion_rule": False}}
    of = stage(everything, negative, called("raises"))  # it is not even on the list
    assert of.rows(batch(ROW), FACTS) == [] and of.discarded == {"hr.t": 1}


# DDL


def statement(text: str = "ALTER TABLE hr.t ADD x int", **more: Any) -> Event:
    return Event(
        EventKind.DDL, LogKey(10, 3), 3, 5, tag="ALTER TABLE", statement=text, tables=(SHAPE,), before=(SHAPE,), **more
    )


def events_after(name: str, event: Event, *, is_array: bool = False) -> list[Event]:
    return stage(TABLE, called(name, is_array=is_array, rule="d"), **{name: name}).events(event)


@pytest.mark.req("ST-X-21", "ST-X-22")
def test_a_function_gives_a_statement_another_table_and_text() -> None:
    original, found = events_after("to_pub", statement())
    assert original == replace(statement(), discarded=REPLACED)
    assert found.statement == "ALTER TABLE pub.t ADD x int" and found.is_transformed
    assert str(found.tables[0].name) == "pub.t" and found.key == original.key


@pytest.mark.req("ST-X-22", "ST-X-29")
@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("only_named", "a statement about hr.t with an LCR of pub.t"),
        ("two_in_one", "several statements in one text"),
        ("as_row", "another kind of LCR"),
    ],
)
def test_text_and_names_of_a_statement_have_to_agree(name: str, what: str) -> None:
    with pytest.raises(RuleError, match=what) as error:
        events_after(name, statement())
    assert error.value.code == "RUL-136"


@pytest.mark.parametrize(
    ("name", "code", "what"),
    [
        ("raises", "RUL-137", "not today"),
        ("hangs", "RUL-137", "longer than 0.5 s"),
        ("garbage", "RUL-136", "a int, no message"),
    ],
)
def test_what_a_function_does_wrong_with_a_statement_is_an_error(name: str, code: str, what: str) -> None:
    with pytest.raises(RuleError, match=f"function hr.{name} .* ALTER TABLE of hr.t.*{what}|gave {what}") as error:
        events_after(name, statement())
    assert error.value.code == code


@pytest.mark.req("ST-X-26")
def test_a_statement_stays_at_its_place_in_the_log() -> None:
    original, found = events_after("elsewhere", statement())
    assert found.statement == "ALTER TABLE hr.t ADD x int DEFAULT 1"
    assert (found.key, found.transaction_id, found.committed) == (
        original.key,
        original.transaction_id,
        original.committed,
    )


@pytest.mark.req("ST-X-44")
def test_an_array_function_gives_several_statements() -> None:
    first, second = events_after("with_comment", statement(), is_array=True)
    assert [first.statement, second.statement] == [statement().statement, "COMMENT ON TABLE hr.t IS 'changed'"]
    assert (first.key, second.key) == (LogKey(10, 3 * 1024), LogKey(10, 3 * 1024 + 1))
    assert second.is_transformed and not first.is_transformed and second.tag == "COMMENT"
    (none,) = events_after("nothing", statement(), is_array=True)
    assert none.discarded == "capture process cap: function hr.nothing gives nothing for it"


def test_a_function_is_called_for_one_object() -> None:
    both = statement("DROP TABLE hr.t, hr.u", dropped=((7, SHAPE.name), (8, TableName("hr", "u"))))
    everything = {"add_schema_rules": {**RULE, "schema_name": "hr", "include_ddl": True}}
    everything["add_schema_rules"].pop("table_name")
    of = stage(everything, called("to_pub", rule="d"), to_pub="to_pub")
    with pytest.raises(RuleError, match="several objects") as error:
        of.events(replace(both, tables=(), tag="DROP TABLE"))
    assert error.value.code == "RUL-136"
    truncate = Event(EventKind.TRUNCATE, LogKey(10, 3), 3, 5, dropped=((7, SHAPE.name),))
    _, found = of.events(truncate)
    assert found.dropped == ((7, TableName("pub", "t")),) and found.kind is EventKind.TRUNCATE


def test_a_propagation_has_the_changed_statement_alone() -> None:
    queues = {"source_queue_name": "q1", "destination_queue_name": "q2", "streams_name": "p"}
    rules = {"table_name": "hr.t", "include_ddl": True, "ddl_rule_name": "d", **queues}
    calls = ({"add_table_propagation_rules": rules}, called("to_pub", rule="d"))
    of = stage_of(ClientKind.PROPAGATION, *calls, to_pub="to_pub")
    (found,) = of.events(statement())
    assert found.statement == "ALTER TABLE pub.t ADD x int" and of.event(statement()) == found


# batches


def test_a_function_takes_whole_batches_and_exact_texts_stay() -> None:
    rows: list[dict[str, Any]] = [{**ROW, "at": "2024-01-31 10:00:00.500"}, {**ROW, "id": "2", "note": None}]
    (found,) = rows_after("capitals", *rows)
    assert [values for _, values in contents([found])] == [
        {"id": "1", "k": "2.50", "note": "ANN LEE", "at": "2024-01-31 10:00:00.500", "length": "7"},
        {"id": "2", "k": "2.50", "note": None, "at": None, "length": None},
    ]
    assert found.shape.named("length").type.text == "bigint" and found.layout.is_transformed


def test_rows_of_a_batch_can_be_left_out_by_a_mask_at_a_capture() -> None:
    rows = [{"id": str(number), "note": "n"} for number in range(5)]
    found = rows_after("even", *rows, is_array=True)
    assert [(lsn, seq // 1024) for lsn, seq in _keys(found[0])] == [(10, 0), (10, 2), (10, 4)]
    assert rows_after("even", {"id": "1"}, is_array=True) == []


def test_a_value_that_the_log_lacks_stays_away_unless_the_function_gives_one() -> None:
    rows = batch({"op": "UPDATE", "id": "1", "note": "a", "old": ROW}, {"op": "UPDATE", "id": "2", "old": ROW})
    lacks = {"note": np.array([False, True]), "k": np.array([True, True])}
    bitmap = absent_bitmap(lacks, [*TYPES], 2)
    rows = replace(rows, rows=rows.rows.set_column(4, "absent", bitmap))
    found = stage(TABLE, called("capitals"), capitals="capitals").rows(rows, FACTS)
    assert [values for _, values in contents(found)] == [
        {"id": "1", "note": "A", "at": None, "length": "1"},
        {"id": "2", "at": None, "length": None},
    ]


@pytest.mark.parametrize(
    ("name", "what", "is_array"),
    [
        ("reversed_rows", "other rows", False),
        ("no_batch", "a int", False),
        ("strange_column", "a column c_id", False),
        ("nested", "a_list of type list", False),
        ("even", "a tuple", False),
        ("short_mask", "of another length", True),
    ],
)
def test_what_a_function_of_batches_must_not_give(name: str, what: str, is_array: bool) -> None:
    with pytest.raises(RuleError, match=what) as error:
        rows_after(name, ROW, {**ROW, "id": "2"}, is_array=is_array)
    assert error.value.code == "RUL-136"
