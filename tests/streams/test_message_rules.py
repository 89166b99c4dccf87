"""Rules for user messages."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.streams.messages import Message, UserMessage
from tests.streams.making import TYPES, battery, client, made, row, taken, taken_names

EUROPE = {
    "message_type": "strmadmin.region_pri_msg", "rule_condition": ":msg.region = 'EUROPE' AND :msg.priority = '1' ",
    "streams_type": "dequeue", "streams_name": "msg_client", "queue_name": "streams_queue",
}  # fmt: skip
AMERICAS = {
    **EUROPE, "rule_condition": ":msg.region = 'AMERICAS' AND :msg.priority = '2' ", "streams_type": "apply",
    "streams_name": "apply_msg",
}  # fmt: skip


def message(region: str, priority: Any, type: str = "STRMADMIN.REGION_PRI_MSG") -> UserMessage:
    return UserMessage(type, {"REGION": region, "PRIORITY": priority, "MESSAGE": "x"})


@pytest.mark.req("ST-M-10", "ST-M-11", "ST-M-12", "ST-M-14", "ST-S-44", "ST-S-38")
def test_two_message_rules() -> None:
    """G-26: each client takes its messages; a number is compared with a text; the rules share no variable."""
    found = made({"add_message_rule": EUROPE}, {"add_message_rule": AMERICAS}, types=TYPES)
    first, second = found.rules.values()
    (variable,), (other,) = first.variables, second.variables
    assert first.text == f":\"{variable}\".region = 'EUROPE' AND :\"{variable}\".priority = '1' "
    assert second.text == f":\"{other}\".region = 'AMERICAS' AND :\"{other}\".priority = '2' "
    assert variable != other and variable.startswith("VAR$_")
    messages: list[Message] = [
        message("EUROPE", 1),
        message("AMERICAS", 2),
        message("ASIA", 1),
        message("EUROPE", 2),
        row("hr.t"),
    ]
    dequeue, apply = client(found, "dequeue", "msg_client"), client(found, "apply", "apply_msg")
    assert taken(dequeue, messages) == [True, False, False, False, False]
    assert taken(apply, messages) == [False, True, False, False, False]
    assert dequeue.positive is not None and dequeue.positive.context is None


@pytest.mark.req("ST-M-15", *(f"ST-S-{number}" for number in (17, 25, 33)))
@pytest.mark.parametrize("kind", ["propagation", "apply", "dequeue"])
def test_messages_of_one_type(kind: str) -> None:
    call = {"message_type": "own.m", "rule_condition": ":msg.f = 1", "streams_name": "c"}
    name = "add_message_rule"
    place: dict[str, Any] = {"streams_type": kind}
    if kind == "propagation":
        name, place = "add_message_propagation_rule", {"source_queue_name": "q", "destination_queue_name": "q2"}
    types = {"own.m": {"f": "number"}, "own.n": {"f": "number"}}
    found = made({name: {**call, **place}}, types=types)
    assert taken_names(client(found, kind, "c"), battery()) == {"B9"}
    negative = made({name: {**call, **place, "inclusion_rule": False}}, types=types)
    assert taken_names(client(negative, kind, "c"), battery()) == set(battery()) - {"B9"}


@pytest.mark.req("ST-M-01")
@pytest.mark.parametrize("kind", ["capture", "sync_capture"])
def test_a_capture_has_no_message_rules(kind: str) -> None:
    with pytest.raises(RuleError, match="captures no user messages") as found:
        made({"add_message_rule": {**EUROPE, "streams_type": kind}}, types=TYPES)
    assert found.value.code == "RUL-110"


@pytest.mark.req("ST-M-09", "ST-M-14", "ST-S-38")
@pytest.mark.parametrize(
    ("condition", "code", "why"),
    [
        (":msg.regoin = 'X'", "RUL-104", "has no field REGOIN; it has REGION, PRIORITY, MESSAGE"),
        (":msg.priority = 'high'", "RUL-103", "'high' is no number"),
        (":dml.get_scn() = 1", "RUL-104", ":dml is no variable of this condition; :msg"),
        (":msg.region.x = '1'", "RUL-103", "a value stands before this"),
    ],
)
def test_conditions_that_are_refused(condition: str, code: str, why: str) -> None:
    with pytest.raises(RuleError) as found:
        made({"add_message_rule": {**EUROPE, "rule_condition": condition}}, types=TYPES)
    assert (found.value.code, why in found.value.message) == (code, True)


def test_a_message_type_that_nobody_has_declared() -> None:
    with pytest.raises(RuleError, match=r"the message type STRMADMIN\.REGION_PRI_MSG is not known") as found:
        made({"add_message_rule": EUROPE})
    assert found.value.code == "RUL-116"
