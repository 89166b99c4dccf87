"""What a messaging client does to messages while it dequeues them, and what becomes of errors."""

from __future__ import annotations

import getpass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.streams.messages import RowLcr, UserMessage
from tests.flow.streams import message_functions
from tests.flow.streams.messaging import BATTERY, CAPTURE, TYPES, channel, message_rule, put, rules, take
from tests.streams.making import made

HERE = "tests.flow.streams.message_functions"
FUNCTIONS = {"own.ten_more": f"{HERE}:ten_more", "own.failing": f"{HERE}:failing"}
A_TO_B = {"from_column_name": "a", "to_column_name": "b"}


def function_of(rule: str, function: str, **more: Any) -> dict[str, Any]:
    return {"set_rule_transform_function": {"rule_name": rule, "transform_function": function, **more}}


@pytest.mark.req("ST-X-70", "ST-X-71", "ST-X-72", "ST-X-15")
def test_messages_are_transformed_while_they_are_dequeued(databases: Any, tmp_path: Path) -> None:
    """Declared for a row LCR, then a function; a function for a user message. All before the position moves."""
    dml = rules("table", "c", include_ddl=False, dml_rule_name="dml")
    hr = channel(
        tmp_path,
        databases.source,
        dml,
        {"rename_column": {"rule_name": "dml", "table_name": "hr.t", **A_TO_B}},
        message_rule("c", ":msg.f > 0", rule_name="msg"),
        function_of("msg", "own.ten_more"),
        functions=FUNCTIONS,
    )

    def stored() -> int:
        with hr.opened() as run:
            return len(run.repository.dequeued("hr", "c"))

    put(hr, BATTERY["B9"], {**BATTERY["B1"], "new": {"k": 1, "a": "x"}})
    message_functions.CALLS.clear()
    message_functions.STORED.append(stored)
    message, lcr = take(hr).messages
    assert message == UserMessage("own.m", {"f": Decimal(11)})
    assert isinstance(lcr, RowLcr) and lcr.new == {"k": Decimal(1), "b": "x"}
    assert [(getpass.getuser(), "UserMessage", 0)] == message_functions.CALLS and stored() == 1
    hr.change(calls=[CAPTURE, dml, function_of("dml", "own.ten_more")])
    put(hr, BATTERY["B1"])
    (lcr,) = take(hr).messages
    assert isinstance(lcr, RowLcr) and lcr.new == {"k": Decimal(11)}


@pytest.mark.req("ST-X-71")
@pytest.mark.parametrize(
    ("call", "code"),
    [
        ({"rename_schema": {"rule_name": "msg", "from_schema_name": "a", "to_schema_name": "b"}}, "RUL-120"),
        (function_of("msg", "own.failing", is_array=True), "RUL-125"),
    ],
)
def test_a_message_rule_has_no_declared_transformation_and_no_array(call: Any, code: str) -> None:
    with pytest.raises(RuleError) as found:
        made(message_rule("c", rule_name="msg"), call, types=TYPES)
    assert found.value.code == code


@pytest.mark.req("ST-Y-15", "ST-Y-16")
def test_a_function_that_fails_leaves_the_message(databases: Any, tmp_path: Path) -> None:
    """The caller gets the error, again and again, until the transformation is changed; the message was there."""
    client = message_rule("c", ":msg.f > 0", rule_name="msg")
    hr = channel(tmp_path, databases.source, client, function_of("msg", "own.failing"), functions=FUNCTIONS)
    put(hr, BATTERY["B9"], BATTERY["B10"], BATTERY["B9"])
    first = take(hr)
    assert [one.fields["f"] for one in first.messages if isinstance(one, UserMessage)] == [1]
    assert first.stopped_by is not None and first.stopped_by.code == "RUL-137"
    for _ in range(2):
        with pytest.raises(RuleError, match="2 is not for me") as found:
            take(hr)
        assert found.value.code == "RUL-137"
    hr.change(calls=[CAPTURE, client, function_of("msg", "own.ten_more")])
    assert [one.fields["f"] for one in take(hr).messages if isinstance(one, UserMessage)] == [12, 11]


@pytest.mark.req("ST-Y-18")
def test_a_declared_transformation_that_can_not_be_done_leaves_the_message(databases: Any, tmp_path: Path) -> None:
    client = rules("table", "c", include_ddl=False, dml_rule_name="dml")
    add = {"add_column": {"rule_name": "dml", "table_name": "hr.t", "column_name": "k", "column_value": 5}}
    hr = channel(tmp_path, databases.source, client, add)
    put(hr, BATTERY["B1"])
    for _ in range(2):
        with pytest.raises(RuleError) as found:
            take(hr)
        assert found.value.code == "RUL-122"
    hr.change(calls=[CAPTURE, client])
    assert len(take(hr).messages) == 1


def test_a_function_that_is_not_listed_is_an_error_before_any_message(databases: Any, tmp_path: Path) -> None:
    with pytest.raises(RuleError) as found:
        channel(tmp_path, databases.source, message_rule("c", rule_name="msg"), function_of("msg", "own.other"))
    assert found.value.code == "RUL-134"
