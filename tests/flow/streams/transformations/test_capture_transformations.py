"""A capture process transforms what it takes before anything of it is written."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.flow.streams.propagation import propagate
from tests.flow.streams import functions
from tests.flow.streams.streams_channel import BATTERY_TABLES, StreamsChannel, streams_channel

HERE = "tests.flow.streams.functions"
OF_CAPTURE = {"streams_type": "capture", "streams_name": "cap", "queue_name": "q1", "include_ddl": True}


def table_rules(table: str, dml: str, ddl: str) -> dict[str, Any]:
    rules = {"dml_rule_name": dml, "ddl_rule_name": ddl}
    return {"add_table_rules": {"table_name": table, **OF_CAPTURE, **rules}}


def called(rule: str, name: str, *, is_array: bool = False) -> dict[str, Any]:
    pair = {"rule_name": rule, "transform_function": f"hr.{name}", "is_array": is_array}
    return {"set_rule_transform_function": pair}


def passed_on(queue: str) -> dict[str, Any]:
    queues = {"source_queue_name": "q1", "destination_queue_name": queue, "include_ddl": True}
    return {"add_global_propagation_rules": {"streams_name": f"to_{queue}", **queues}}


def listed(*names: str) -> dict[str, str]:
    return {f"hr.{name}": f"{HERE}:{name}" for name in names}


WITHOUT_NOTE = {"delete_column": {"rule_name": "r", "table_name": "hr.t", "column_name": "note"}}
TO_PUB = {"rename_table": {"rule_name": "r", "from_table_name": "hr.t", "to_table_name": "pub.t"}}


def begun(channel: StreamsChannel) -> StreamsChannel:
    channel.at_source(*BATTERY_TABLES)
    channel.activate()
    return channel


@pytest.mark.req("ST-X-40", "ST-X-41", "ST-X-42", "ST-X-46", "ST-X-47", "ST-X-49", "ST-X-33", "ST-X-44")
def test_every_destination_has_what_the_capture_left(
    databases: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    calls = (
        table_rules("hr.t", "r", "d"), WITHOUT_NOTE, TO_PUB,
        table_rules("hr.u", "ru", "du"), called("ru", "twice", is_array=True),
        table_rules("oe.o", "ro", "do"), called("ro", "counted"), called("do", "with_comment", is_array=True),
        passed_on("q2"), passed_on("q3"),
    )  # fmt: skip
    channel = begun(
        streams_channel(tmp_path, databases.source, *calls, functions=listed("twice", "counted", "with_comment"))
    )
    functions.CALLS.clear()
    caplog.clear()
    channel.at_source(
        "INSERT INTO hr.t VALUES (1, 1, 'a private word')",
        "BEGIN; ALTER TABLE hr.t ADD x int, ALTER note SET NOT NULL;"
        "INSERT INTO hr.t VALUES (2, 1, 'a private word', 7); COMMIT",
        "ALTER TABLE hr.t ALTER note DROP NOT NULL",
        "INSERT INTO hr.u VALUES (3, 1)",
        "INSERT INTO oe.o VALUES (4, 1)",
        "ALTER TABLE oe.o ADD y int",
        "INSERT INTO oe.o VALUES (5, 1, 2)",
        "TRUNCATE hr.t",
    )  # fmt: skip
    caplog.clear()
    with caplog.at_level(logging.WARNING, "ddlrepl"):
        result = channel.stage(flow.capture)
    assert not caplog.messages and result.ddl == {"ALTER TABLE": 2, "TRUNCATE": 1} and result.drift == 0
    expected = [
        "INSERT pub.t {'id': 1, 'k': 1}",
        "ALTER TABLE pub.t ADD x int",
        "INSERT pub.t {'id': 2, 'k': 1, 'x': 7}",
        "INSERT hr.u {'id': '3', 'k': '1'}",
        "INSERT copies.u {'id': '3', 'k': '1', 'note': 'a copy'}",
        "INSERT oe.o {'id': '4', 'k': '1', 'note': 'NONE'}",
        "ALTER TABLE oe.o ADD y int",
        "COMMENT ON TABLE oe.o IS 'changed'",
        "INSERT oe.o {'id': '5', 'k': '1', 'y': '2', 'note': 'NONE'}",
        "truncate pub.t",
    ]
    assert channel.content("q1") == expected
    assert functions.CALLS == {"INSERT oe.o": 2}
    channel.stage(propagate)
    assert channel.content("q2") == channel.content("q3") == expected
    assert functions.CALLS == {"INSERT oe.o": 2}
    for queue in ("q1", "q2", "q3"):
        assert b"a private word" not in channel.bytes_of(queue)
    channel.at_source("INSERT INTO hr.t VALUES (6, 1, 'a private word', 9)")
    caplog.clear()
    with caplog.at_level(logging.WARNING, "ddlrepl"):
        again = channel.stage(flow.capture)
    assert channel.content("q1")[-1] == "INSERT pub.t {'id': 6, 'k': 1, 'x': 9}"
    assert not caplog.messages and again.revisions == 0


def fails(channel: StreamsChannel, code: str) -> None:
    """The capture fails, is where it was before, and the status tells it."""
    with channel.opened() as context:
        before = context.captured()
        with pytest.raises(RuleError) as error:
            flow.capture(context)
        assert error.value.code == code and context.captured() == before
        text = flow.status(context).text()
    assert f"capture process cap is disabled: {code}" in text, text


@pytest.mark.req("ST-Y-01", "ST-Y-02", "ST-Y-03", "ST-Y-04", "ST-Y-17", "ST-Z-11")
def test_an_error_disables_the_capture_until_its_transformation_is_changed(databases: Any, tmp_path: Path) -> None:
    rules = table_rules("hr.t", "r", "d")
    absent = [
        {"delete_column": {"rule_name": "r", "table_name": "hr.t", "column_name": "nowhere"}},
        {"rename_column": {"rule_name": "r", "table_name": "hr.t", "from_column_name": "no", "to_column_name": "k"}},
        {"rename_table": {"rule_name": "r", "from_table_name": "hr.x", "to_table_name": "hr.y"}},
    ]
    channel = begun(streams_channel(tmp_path, databases.source, rules, *absent))
    channel.at_source("INSERT INTO hr.t VALUES (1, 1, 'one')")
    channel.stage(flow.capture)
    first = "INSERT hr.t {'id': 1, 'k': 1, 'note': 'one'}"
    assert channel.content("q1") == [first]

    renamed = {
        "rename_column": {"rule_name": "r", "table_name": "hr.t", "from_column_name": "k", "to_column_name": "note"}
    }
    added = {"add_column": {"rule_name": "r", "table_name": "hr.t", "column_name": "k", "step_number": 1}}
    deleted = {"delete_column": {"rule_name": "r", "table_name": "hr.t", "column_name": "k", "step_number": 2}}
    channel.at_source("INSERT INTO hr.t VALUES (2, 2, 'two')", "INSERT INTO hr.u VALUES (1, 1)")
    for wrong, code in (([renamed], "RUL-122"), ([added, deleted], "RUL-122"), ([called("r", "raises")], "RUL-137")):
        channel.change(calls=[rules, *wrong], functions=listed("raises"))
        for _ in range(2):
            fails(channel, code)
        assert channel.content("q1") == [first]

    channel.change(calls=[rules])
    channel.stage(flow.capture)
    assert channel.content("q1") == [first, "INSERT hr.t {'id': 2, 'k': 2, 'note': 'two'}"]
    with channel.opened() as context:
        assert "disabled" not in flow.status(context).text()
