"""Rules of a capture process for tables whose rows the source's log does not have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import RuleError
from tests.flow.streams.streams_channel import BATTERY_TABLES, CAPTURE, streams_channel

SCHEMA = {"add_schema_rules": {"schema_name": "hr", **CAPTURE}}
UNLOGGED = "CREATE UNLOGGED TABLE hr.scratch (id int PRIMARY KEY)"


def table_rule(name: str, **more: Any) -> dict[str, Any]:
    return {"add_table_rules": {"table_name": name, **CAPTURE, **more}}


BY_HAND = (
    {"create_rule": {"rule_name": "no_log", "condition": ":dml.get_object_owner() = 'hr' AND "
                     ":dml.get_object_name() IN ('scratch', 'other')"}},
    {"create_rule_set": {"rule_set_name": "unsupported"}},
    {"add_rule": {"rule_name": "no_log", "rule_set_name": "unsupported"}},
    {"alter_capture": {"capture_name": "cap", "negative_rule_set_name": "unsupported"}},
)  # fmt: skip


@pytest.mark.req("ST-S-58")
def test_a_table_without_log_ends_the_capture_until_a_negative_rule_leaves_it_out(
    databases: Any, tmp_path: Path
) -> None:
    channel = streams_channel(tmp_path, databases.source, SCHEMA)
    channel.at_source(*BATTERY_TABLES)
    channel.activate()
    channel.at_source("INSERT INTO hr.t VALUES (1)", UNLOGGED, "INSERT INTO hr.scratch VALUES (1)")
    with pytest.raises(RuleError, match=r"hr\.scratch: it is unlogged") as error:
        channel.stage(flow.capture)
    assert error.value.code == "RUL-143"
    assert [one["table"] for one in channel.stage(flow.status).to_json()["left_out"]] == ["hr.scratch"]
    channel.change(calls=[SCHEMA, table_rule("hr.scratch", inclusion_rule=False)])
    channel.stage(flow.capture)
    assert channel.content("q1") == ["INSERT hr.t {'id': 1, 'k': None, 'note': None}"]


@pytest.mark.parametrize("of", ["get_command_type() IN ('UPDATE', 'DELETE')", "is_null_tag() = 'N'"])
def test_a_table_without_log_is_refused_whichever_of_its_changes_a_rule_takes(
    databases: Any, tmp_path: Path, of: str
) -> None:
    condition = f":dml.get_object_owner() = 'hr' AND :dml.get_object_name() = 'scratch' AND :dml.{of}"
    calls = (
        {"create_rule_set": {"rule_set_name": "some"}},
        {"create_rule": {"rule_name": "some_changes", "condition": condition}},
        {"add_rule": {"rule_name": "some_changes", "rule_set_name": "some"}},
        {"create_capture": {"queue_name": "q1", "capture_name": "cap", "rule_set_name": "some"}},
    )
    channel = streams_channel(tmp_path, databases.source, *calls)
    channel.at_source(*BATTERY_TABLES, UNLOGGED)
    with pytest.raises(RuleError) as error:
        channel.activate()
    assert error.value.code == "RUL-143"
    channel.at_source("ALTER TABLE hr.scratch SET LOGGED")
    channel.activate()


@pytest.mark.req("ST-S-51", "ST-S-59")
def test_rules_for_a_table_without_log_are_refused_before_anything_is_done(databases: Any, tmp_path: Path) -> None:
    """A rule that a person has written for the negative rule set lets a rule for the schema be."""
    channel = streams_channel(tmp_path, databases.source, table_rule("hr.scratch"))
    channel.at_source(*BATTERY_TABLES, UNLOGGED)
    for calls in ([table_rule("hr.scratch")], [SCHEMA]):
        channel.change(calls=calls)
        with pytest.raises(RuleError) as error:
            channel.activate()
        assert error.value.code == "RUL-143"
        with channel.opened() as context:
            assert context.repository.captured("hr") is None
    channel.change(calls=[SCHEMA, *BY_HAND])
    channel.activate()
    channel.at_source("INSERT INTO hr.t VALUES (1)", "INSERT INTO hr.scratch VALUES (1)")
    assert channel.stage(flow.capture).rows == 1
