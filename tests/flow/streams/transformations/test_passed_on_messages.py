"""Propagations pass on messages of every class, as their rules leave them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.flow.streams.clients import StreamsClients
from airflow_ddlrepl.flow.streams.propagation import propagate
from airflow_ddlrepl.streams.messages import DdlLcr, Message, RowLcr, UserMessage
from airflow_ddlrepl.streams.queue.messages import is_message, message_in
from tests.flow.streams.messaging import BATTERY, channel, put
from tests.flow.streams.streams_channel import StreamsChannel

HERE = "tests.flow.streams.message_functions"
FUNCTIONS = {name: f"{HERE}:{name}" for name in ("ten_more", "as_row", "failing", "to_pub", "only_named")}
QUEUES = {"streams_name": "p", "source_queue_name": "q", "destination_queue_name": "q2"}
ROWS = {
    "add_table_propagation_rules": {
        "table_name": "hr.t", "include_ddl": True, "dml_rule_name": "r", "ddl_rule_name": "d", **QUEUES,
    }
}  # fmt: skip


def messages(type: str, rule: str) -> dict[str, Any]:
    return {
        "add_message_propagation_rule": {
            "message_type": type, "rule_condition": ":msg.f > 0", "rule_name": rule, **QUEUES,
        }
    }  # fmt: skip


def called(rule: str, function: str) -> dict[str, Any]:
    return {"set_rule_transform_function": {"rule_name": rule, "transform_function": function}}


def passed(hr: StreamsChannel) -> list[Message]:
    """The applications' messages in the destination queue."""
    with hr.opened() as context:
        (feed,) = StreamsClients(context).feeds("q2")
        events = [event for one in feed.trail.segments(feed.epoch) for event in feed.trail.events(one)]
    return [message_in(event) for event in events if is_message(event) and not event.discarded]


@pytest.mark.req("ST-R-13", "ST-X-15", "ST-X-20", "ST-X-21", "ST-X-27", "ST-X-56")
def test_functions_transform_captured_lcrs_persistent_lcrs_and_messages(databases: Any, tmp_path: Path) -> None:
    calls = (
        ROWS, called("r", "ten_more"), called("d", "to_pub"),
        messages("own.m", "m"), called("m", "ten_more"), messages("own.n", "n"), called("n", "as_row"),
    )  # fmt: skip
    hr = channel(tmp_path, databases.source, *calls, functions=FUNCTIONS)
    hr.at_source("INSERT INTO hr.t VALUES (1, 1, 'captured')", "ALTER TABLE hr.t ADD x int")
    alter = {**BATTERY["B4"], "text": "ALTER TABLE hr.t ADD y int"}
    put(hr, BATTERY["B1"], alter, BATTERY["B7"], BATTERY["B9"], BATTERY["B11"])
    hr.stage(propagate)
    assert hr.content("q2") == ["INSERT hr.t {'k': '11'}"]
    row, ddl, message, made = passed(hr)
    assert isinstance(row, RowLcr) and row.new == {"k": 11} and row.name == "t"
    assert isinstance(ddl, DdlLcr) and (ddl.text, ddl.owner) == ("ALTER TABLE pub.t ADD y int", "pub")
    assert message == UserMessage("own.m", {"f": 11})
    assert isinstance(made, RowLcr) and made.name == "notes" and made.new == {"f": 1}


def test_a_persistent_statement_follows_the_names_of_rows(databases: Any, tmp_path: Path) -> None:
    without = {"delete_column": {"rule_name": "r", "table_name": "hr.t", "column_name": "ssn"}}
    renamed = {"rename_table": {"rule_name": "r", "from_table_name": "hr.t", "to_table_name": "hr.p"}}
    hr = channel(tmp_path, databases.source, ROWS, without, renamed)
    texts = ("ALTER TABLE hr.t ADD x int, DROP ssn", "ALTER TABLE hr.t DROP ssn")
    put(hr, *({**BATTERY["B4"], "text": text} for text in texts))
    hr.stage(propagate)
    assert [getattr(one, "text", "") for one in passed(hr)] == ["ALTER TABLE hr.p ADD x int"]


@pytest.mark.parametrize(("function", "rule", "code"), [("failing", "m", "RUL-137"), ("only_named", "d", "RUL-136")])
def test_a_message_that_can_not_be_transformed_stays(
    function: str, rule: str, code: str, databases: Any, tmp_path: Path
) -> None:
    calls = (ROWS, messages("own.m", "m"))
    hr = channel(tmp_path, databases.source, *calls, called(rule, function), functions=FUNCTIONS)
    put(hr, BATTERY["B10"], BATTERY["B4"])
    for _ in range(2):
        with pytest.raises(RuleError) as error:
            hr.stage(flow.propagate)
        assert error.value.code == code and passed(hr) == []
    hr.change(
        calls=[{"add_global_rules": {"streams_type": "capture", "streams_name": "cap", "queue_name": "q"}}, *calls]
    )
    hr.stage(flow.propagate)
    assert len(passed(hr)) == 2
