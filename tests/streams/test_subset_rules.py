"""Subset rules: three conditions, and rows that migrate into a subset and out of it."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.streams.condition.kinds import Kind
from airflow_ddlrepl.streams.evaluation.messages import holds
from airflow_ddlrepl.streams.messages import Command, RowLcr
from airflow_ddlrepl.streams.parsing.parser import parse
from airflow_ddlrepl.streams.procedures.environment import Environment
from airflow_ddlrepl.streams.rules.client import Client
from airflow_ddlrepl.streams.rules.decide import Reason, decide
from airflow_ddlrepl.streams.rules.transform import transform
from tests.streams.making import battery, class_for, client, ddl, made, row, taken_names

SOURCE = "dbs1.example.com"
REGIONS = {
    "table_name": "hr.regions", "dml_condition": "region_id=2", "streams_type": "apply", "streams_name": "apply",
    "queue_name": "streams_queue", "source_database": SOURCE,
}  # fmt: skip
START = (
    ":dml.get_object_owner()='HR' AND :dml.get_object_name()='REGIONS' AND :dml.is_null_tag()='Y' AND "
    ":dml.get_source_database_name()='DBS1.EXAMPLE.COM' AND "
)


def comes_or_goes(command: str, inside: str, outside: str) -> str:
    """The condition of the insert or the delete rule, as the documentation has it."""
    there, away = (f""":dml.get_value('{image}','"REGION_ID"')""" for image in (inside, outside))
    return (
        f"{START}:dml.get_command_type() IN ('UPDATE','{command}') AND ({there} IS NOT NULL) AND "
        f"({there}.AccessNumber()=2) AND (:dml.get_command_type()='{command}' OR (({away} IS NOT NULL) AND "
        f"((({away}.AccessNumber() IS NOT NULL) AND NOT ({away}.AccessNumber()=2)) OR (({away}.AccessNumber() IS NULL) "
        f"AND NOT EXISTS (SELECT 1 FROM SYS.DUAL WHERE ({away}.AccessNumber()=2))))))"
    )


UPDATE_RULE = (
    f"{START}:dml.get_command_type()='UPDATE' AND (:dml.get_value('NEW','\"REGION_ID\"') IS NOT NULL) AND "
    "(:dml.get_value('OLD','\"REGION_ID\"') IS NOT NULL) AND (:dml.get_value('OLD','\"REGION_ID\"').AccessNumber()=2) "
    "AND (:dml.get_value('NEW','\"REGION_ID\"').AccessNumber()=2)"
)


@pytest.mark.req("ST-U-05", "ST-S-41")
def test_the_three_conditions() -> None:
    found = made({"add_subset_rules": REGIONS})
    assert [rule.text for rule in found.rules.values()] == [
        comes_or_goes("INSERT", "NEW", "OLD"),
        UPDATE_RULE,
        comes_or_goes("DELETE", "OLD", "NEW"),
    ]
    assert [rule.action.subset for rule in found.rules.values()] == [Command.INSERT, Command.UPDATE, Command.DELETE]
    for rule in found.rules.values():
        assert rule.condition == parse(rule.text)


def becomes(of: Client, change: RowLcr) -> str:
    """What a client makes of a change: the command, or `-` when it is discarded."""
    verdict = decide(of, change)
    if not verdict.is_taken:
        return "-"
    lcr = transform(change, verdict)
    assert isinstance(lcr, RowLcr)
    return str(lcr.command)


def change(text: str, column: str, table: str = "hr.regions", **more: Any) -> RowLcr:
    """A change written as I(2), D(NULL) or U(4→2)."""
    command = {"I": "INSERT", "D": "DELETE", "U": "UPDATE"}[text[0]]
    values = [None if one == "NULL" else int(one) for one in text[2:-1].split("→")]
    old = {column: values[0], "X": "old"} if text[0] != "I" else {}
    new = {column: values[-1], "X": "new"} if text[0] != "D" else {}
    return row(table, command, old, new, **more)


G02 = {
    "I(2)": "INSERT", "I(3)": "-", "I(NULL)": "-", "U(4→2)": "INSERT", "U(NULL→2)": "INSERT", "U(2→2)": "UPDATE",
    "U(2→1)": "DELETE", "U(2→NULL)": "DELETE", "U(1→1)": "-", "D(2)": "DELETE", "D(3)": "-", "D(NULL)": "-",
}  # fmt: skip


@pytest.mark.req(*(f"ST-U-{number:02}" for number in (6, 7, 8, 9, 10, 11, 12, 13, 17, 18, 19)))
@pytest.mark.parametrize(("text", "wanted"), G02.items())
def test_what_becomes_of_changes_of_regions(text: str, wanted: str) -> None:
    apply = client(made({"add_subset_rules": REGIONS}), "apply", "apply")
    assert becomes(apply, change(text, "REGION_ID")) == wanted
    assert becomes(apply, change(text, "REGION_ID", tag=b"\1")) == "-"
    assert becomes(apply, change(text, "REGION_ID", source_database="DBS2")) == "-"
    assert becomes(apply, change(text, "REGION_ID", table="hr.employees")) == "-"


def subset_for(kind: str, condition: str, table: str = "hr.employees", **more: Any) -> Environment:
    call = {"table_name": table, "dml_condition": condition, "streams_name": "c"}
    if kind == "propagation":
        place = {"source_queue_name": "q", "destination_queue_name": "q2"}
        return made({"add_subset_propagation_rules": {**call, **place}}, **more)
    return made({"add_subset_rules": {**call, "streams_type": kind}}, **more)


@pytest.mark.req("ST-U-20", *(f"ST-U-{number}" for number in range(22, 30)))
@pytest.mark.parametrize(
    ("kind", "text", "wanted"),
    [
        ("capture", "U(80→50)", "INSERT"),
        ("capture", "U(50→20)", "DELETE"),
        ("sync_capture", "U(80→50)", "INSERT"),
        ("sync_capture", "U(50→20)", "DELETE"),
        ("propagation", "U(50→80)", "DELETE"),
        ("propagation", "U(80→50)", "INSERT"),
        ("apply", "U(80→50)", "INSERT"),
        ("apply", "U(50→20)", "DELETE"),
        ("dequeue", "U(50→90)", "DELETE"),
        ("dequeue", "U(90→50)", "INSERT"),
    ],
)
def test_row_migration_at_each_kind_of_client(kind: str, text: str, wanted: str) -> None:
    found = subset_for(kind, "department_id = 50")
    lcr = change(text, "DEPARTMENT_ID", "hr.employees", message_class=class_for(kind))
    assert becomes(client(found, kind, "c"), lcr) == wanted


@pytest.mark.req("ST-U-02")
def test_subset_rules_of_a_propagation_have_a_procedure_of_their_own() -> None:
    for kind in ("capture", "sync_capture", "apply", "dequeue", "propagation"):
        found = subset_for(kind, "a = 1")
        positive = client(found, kind, "c").positive
        assert positive is not None and len(positive.rules) == len(found.rules) == 3
    with pytest.raises(ValueError, match="streams_type"):
        made({"add_subset_rules": {**REGIONS, "streams_type": "propagation"}})


@pytest.mark.req(*(f"ST-S-{number:02}" for number in (7, 16, 24, 32)))
@pytest.mark.parametrize("kind", ["capture", "propagation", "apply", "dequeue"])
def test_a_subset_of_the_battery(kind: str) -> None:
    of = client(subset_for(kind, "k = 1", "hr.t"), kind, "c")
    assert taken_names(of, battery(class_for(kind))) == {"B1"}


@pytest.mark.req("ST-U-01", "ST-S-42")
def test_ddl_of_a_subset_table_needs_a_rule_of_its_own() -> None:
    more = {"table_name": "hr.regions", "streams_type": "apply", "streams_name": "apply", "include_dml": False}
    without, with_rule = (
        made({"add_subset_rules": REGIONS}),
        made({"add_subset_rules": REGIONS}, {"add_table_rules": {**more, "include_ddl": True}}),
    )
    lcr = ddl("hr.regions")
    assert not decide(client(without, "apply", "apply"), lcr).is_taken
    assert decide(client(with_rule, "apply", "apply"), lcr).is_taken


@pytest.mark.req("ST-U-03")
def test_a_condition_as_in_where() -> None:
    of = client(subset_for("apply", "salary > 4000 and job_id = 'SA_MAN'"), "apply", "c")
    rows = [{"SALARY": 5000, "JOB_ID": "SA_MAN"}, {"SALARY": 3000, "JOB_ID": "SA_MAN"}, {"SALARY": 5000, "JOB_ID": "X"}]
    assert [becomes(of, row("hr.employees", new=new)) for new in rows] == ["INSERT", "-", "-"]
    moves = [becomes(of, row("hr.employees", "UPDATE", old, new)) for old, new in product(rows, rows)]
    assert moves == ["UPDATE", "DELETE", "DELETE", "INSERT", "-", "-", "INSERT", "-", "-"]


@pytest.mark.req("ST-U-15")
@pytest.mark.parametrize(
    ("text", "wanted"), [("U(NULL→1)", "DELETE"), ("U(1→NULL)", "INSERT"), ("U(NULL→NULL)", "UPDATE"), ("U(2→1)", "-")]
)
def test_the_condition_judges_nulls(text: str, wanted: str) -> None:
    found = subset_for("apply", "x IS NULL", columns={"HR.EMPLOYEES": {"X": Kind.NUMBER}})
    lcr = change(text, "X1", "hr.employees")
    lcr = row("hr.employees", "UPDATE", {"X": lcr.old["X1"]}, {"X": lcr.new["X1"]})
    assert becomes(client(found, "apply", "c"), lcr) == wanted


IN = {
    "region_id = 2": (2,),
    "region_id IS NULL OR region_id > 5": (9, None),
    "NULLIF(region_id, 3) = 2": (2,),
    "region_id IN (2, NULL)": (2,),
}


@pytest.mark.req("ST-U-14", "ST-U-16")
@pytest.mark.parametrize("condition", IN)
def test_at_most_one_of_the_three_rules_is_true(condition: str) -> None:
    """For all combinations: exactly one is true where both images are there and one of them is inside, else none."""
    columns = {"HR.REGIONS": {"REGION_ID": Kind.NUMBER}}
    found = made({"add_subset_rules": {**REGIONS, "dml_condition": condition}}, columns=columns)
    apply = client(found, "apply", "apply")
    assert apply.positive is not None
    inside = dict.fromkeys((2, 3, 9, None), False) | dict.fromkeys(IN[condition], True)
    states: list[Any] = [{"REGION_ID": value} for value in inside] + [{"OTHER": 1}]
    for command, old, new in product(Command, states, states):
        lcr = row("hr.regions", command, {} if command == "INSERT" else old, {} if command == "DELETE" else new)
        true = [rule for rule in apply.positive.rules.values() if holds(rule.condition, lcr)]
        was, now = (inside.get(one["REGION_ID"]) if "REGION_ID" in one else None for one in (old, new))
        if "REGION_ID" not in new and command is Command.UPDATE:
            now = was
        known = (was is not None or command is Command.INSERT) and (now is not None or command is Command.DELETE)
        is_in = (was and command is not Command.INSERT) or (now and command is not Command.DELETE)
        assert len(true) == (1 if known and is_in else 0), (command, old, new)
        assert (decide(apply, lcr).reason is Reason.MISSING_COLUMN) == (not known), (command, old, new)


@pytest.mark.req("ST-U-30")
def test_a_migrated_insert_has_every_column() -> None:
    of = client(subset_for("apply", "k = 1"), "apply", "c")
    old = {"K": 2, "A": "a", "B": "b"}
    comes = row("hr.employees", "UPDATE", old, {"K": 1})
    found = transform(comes, decide(of, comes))
    assert (found.command, found.new, found.old) == ("INSERT", {"K": 1, "A": "a", "B": "b"}, {})
    goes = row("hr.employees", "UPDATE", {**old, "K": 1}, {"K": 2})
    found = transform(goes, decide(of, goes))
    assert (found.command, found.new, found.old) == ("DELETE", {}, {"K": 1, "A": "a", "B": "b"})


@pytest.mark.req("ST-S-43", "ST-U-21")
def test_subset_rules_in_a_negative_rule_set_are_refused() -> None:
    with pytest.raises(ValueError, match="inclusion_rule"):
        made({"add_subset_rules": {**REGIONS, "inclusion_rule": False}})
    named = {**REGIONS, "insert_rule_name": "i"}
    table = {"table_name": "hr.t", "streams_type": "apply", "streams_name": "other", "inclusion_rule": False}
    found = made({"add_subset_rules": named}, {"add_table_rules": {**table, "include_tagged_lcr": True}})
    first, other = client(found, "apply", "apply"), client(found, "apply", "other")
    assert first.positive is not None and other.negative is not None
    with pytest.raises(
        RuleError, match="has the subset rule I, and is the negative one of apply process OTHER"
    ) as refused:
        other.attach(first.positive, is_positive=False)
    assert refused.value.code == "RUL-111"
    with pytest.raises(RuleError, match="rule I is a subset rule") as refused:
        found.put(found.rule("i"), other.negative)
    assert refused.value.code == "RUL-111"


@pytest.mark.req("ST-A-07")
def test_subset_and_message_rules_have_no_and_condition() -> None:
    with pytest.raises(ValueError, match="and_condition"):
        made({"add_subset_rules": {**REGIONS, "and_condition": ":lcr.get_scn() > 1"}})
    place = {"message_type": "own.m", "rule_condition": ":msg.f = 1", "streams_type": "apply", "streams_name": "c"}
    types = {"own.m": {"f": "number"}}
    assert len(made({"add_message_rule": place}, types=types).rules) == 1
    with pytest.raises(ValueError, match="and_condition"):
        made({"add_message_rule": {**place, "and_condition": ":lcr.get_scn() > 1"}}, types=types)


@pytest.mark.parametrize(
    ("condition", "code", "why"),
    [
        ("region_id = 2 AND", "RUL-101", "line 1, column 18: it ends here"),
        ("a.region_id = 2", "RUL-102", "A.REGION_ID: write the column's name alone"),
        ("region_id IS NULL", "RUL-103", "the type of REGION_ID does not follow from the condition"),
        ("EXISTS (SELECT 1 FROM t WHERE 1=1)", "RUL-101", "a condition can't look into tables"),
        (":dml.get_scn() = 1", "RUL-104", ":dml is no variable of this condition; there is none"),
    ],
)
def test_conditions_that_are_refused(condition: str, code: str, why: str) -> None:
    with pytest.raises(RuleError, match=r"dml_condition of add_subset_rules for HR\.REGIONS") as found:
        made({"add_subset_rules": {**REGIONS, "dml_condition": condition}})
    assert (found.value.code, why in found.value.message) == (code, True)


def test_columns_that_a_known_table_does_not_have() -> None:
    with pytest.raises(RuleError, match=r"the table has no column REGION\. did you mean REGION_ID") as found:
        made(
            {"add_subset_rules": {**REGIONS, "dml_condition": "region = 2"}},
            columns={"HR.REGIONS": {"REGION_ID": Kind.NUMBER}},
        )
    assert found.value.code == "RUL-104"
