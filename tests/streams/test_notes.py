"""What `ddlrepl check` says of rules that are valid: what transformations cost and where, whom subsets starve."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_ddlrepl.streams.procedures.notes import notes
from tests.streams.making import made

CAPTURE = {"streams_type": "capture", "streams_name": "cap", "queue_name": "q"}
SYNC = {"streams_type": "sync_capture", "streams_name": "trig", "queue_name": "q"}


def rules(of: dict[str, Any], level: str = "table", **more: Any) -> dict[str, Any]:
    about = {"table": {"table_name": "hr.t"}, "schema": {"schema_name": "hr"}, "global": {}}[level]
    return {f"add_{level}_rules": {**about, "dml_rule_name": "r", **of, **more}}


def applies(name: str) -> dict[str, Any]:
    return {"streams_type": "apply", "streams_name": name, "queue_name": "q", "dml_rule_name": f"of_{name}"}


def passes(name: str) -> dict[str, Any]:
    queues = {"source_queue_name": "q", "destination_queue_name": name, "streams_name": f"to_{name}",
              "source_database": "dbs1"}  # fmt: skip
    return {"add_table_propagation_rules": {"table_name": "hr.t", **queues}}


def subset(of: dict[str, Any]) -> dict[str, Any]:
    given = {key: value for key, value in of.items() if key != "dml_rule_name"}
    return {
        "add_subset_rules": {"table_name": "hr.t", "dml_condition": "dept = 50", "source_database": "dbs1", **given}
    }


HIDDEN = {"delete_column": {"rule_name": "r", "table_name": "hr.t", "column_name": "ssn"}}


@pytest.mark.req("ST-X-50", "ST-X-62")
@pytest.mark.parametrize(
    ("of", "where", "before"),
    [
        (CAPTURE, "the tasks that read the source's log do the work", ()),
        (SYNC, "the transactions that change its rows do, at the source, the work", ()),
        ({**CAPTURE, "source_database": "dbs1"}, "the tasks that read the log of the other database do, off that",
         ({"create_capture": {"queue_name": "q", "capture_name": "cap", "source_database": "dbs1"}},)),
    ],
    ids=["local capture", "synchronous capture", "downstream capture"],
)  # fmt: skip
def test_a_transformation_at_a_capture_names_both_costs(
    of: dict[str, Any], where: str, before: tuple[dict[str, Any], ...]
) -> None:
    """The work is done where changes are captured: at the source by triggers, else where its log is read."""
    note = list(notes(made(*before, rules(of), HIDDEN, passes("q2"), passes("q3"))))[-1]
    assert where in note and "all 2 clients of queue Q get what it leaves" in note
    assert [one for one in notes(made(*before, rules(of), HIDDEN, passes("q2"))) if "transforms at" in one] == []


@pytest.mark.req("ST-X-68")
def test_what_is_hidden_late_has_left_the_source() -> None:
    late = {"delete_column": {**HIDDEN["delete_column"], "rule_name": "of_app"}}
    (note,) = notes(made(rules(CAPTURE), rules(applies("app")), late))
    assert "rule OF_APP transforms at apply process APP" in note
    assert "values that it hides leave the source as they are, queue Q and all queues before it hold them" in note
    assert "the work, which is done off the source, is done again by each such client" in note
    early = {"delete_column": {**HIDDEN["delete_column"], "rule_name": "r"}}
    assert list(notes(made(rules(CAPTURE), rules(applies("app")), early))) == []


@pytest.mark.req("ST-X-24")
def test_a_function_of_a_rule_for_many_tables() -> None:
    function = {"set_rule_transform_function": {"rule_name": "r", "transform_function": "f"}}
    (note,) = notes(made(rules(CAPTURE, "schema"), function))
    assert note.startswith("function f is called for each change that rule R is true for")
    assert list(notes(made(rules(CAPTURE), function))) == []


@pytest.mark.req("ST-U-36")
@pytest.mark.parametrize("level", ["table", "schema", "global"])
def test_a_client_that_wants_more_than_the_captured_subset_is_named(level: str) -> None:
    whole = rules(applies("whole"), level, source_database="dbs1")
    note, _, _ = notes(made(subset(CAPTURE), subset(applies("part")), whole))
    assert note.startswith("apply process WHOLE gets a subset of HR.T alone, for capture process CAP takes no more")


@pytest.mark.req("ST-U-35")
def test_the_same_subset_of_all_targets_belongs_to_the_capture() -> None:
    note, *costs = notes(made(rules(CAPTURE), subset(applies("a")), subset(applies("b"))))
    assert [one.partition(":")[0] for one in costs] == [f"apply process {name} takes a subset of HR.T" for name in "AB"]
    assert note.startswith("apply process A, apply process B take the same subsets")
    assert len(list(notes(made(rules(CAPTURE), subset(applies("a")), rules(applies("b")))))) == 1


USERS = {
    "create_capture": {"queue_name": "q", "capture_name": "cap", "capture_user": "strmadmin"},
    "alter_capture": {"capture_name": "cap", "capture_user": "strmadmin"},
    "create_sync_capture": {
        "queue_name": "q",
        "capture_name": "trig",
        "rule_set_name": "s",
        "capture_user": "strmadmin",
    },
    "create_apply": {"queue_name": "q", "apply_name": "app", "apply_user": "strmadmin"},
    "alter_apply": {"apply_name": "app", "apply_user": "strmadmin"},
}


@pytest.mark.parametrize("call", USERS)
def test_a_user_that_a_call_gives_to_a_client_has_no_effect(call: str) -> None:
    """The user of the location does the work; `check` and `activate` say so of each call that names another one."""
    user = "apply_user" if "apply" in call else "capture_user"
    before = [{"create_rule_set": {"rule_set_name": "s"}}]
    if call.startswith("alter"):
        other = call.replace("alter", "create")
        before.append({other: {key: value for key, value in USERS[other].items() if key != user}})
    (note,) = [one for one in notes(made(*before, {call: USERS[call]})) if "has no effect" in one]
    place = "its target" if user == "apply_user" else "the source"
    assert note.startswith(f"{user} strmadmin of ") and f"works as the user of the location of {place};" in note
    silent = {key: value for key, value in USERS[call].items() if key != user}
    assert [one for one in notes(made(*before, {call: silent})) if "no effect" in one] == []
