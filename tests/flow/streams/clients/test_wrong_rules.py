"""Rules that can't be are refused with an error that says what to do; no change is lost or passed over meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import DdlReplError, Exit
from tests.flow.streams.streams_channel import APPLY, BATTERY_TABLES, CAPTURE, StreamsChannel, streams_channel
from tests.support.refusing import ask
from tests.support.replica import run

RULES: tuple[dict[str, Any], ...] = ({"add_global_rules": CAPTURE}, {"add_global_rules": APPLY})
TYPES = {"own.m": {"f": "number"}}
SUBSET = {"table_name": "hr.t", "dml_condition": "k = 1", "queue_name": "q1"}
OTHER = {"streams_type": "apply", "streams_name": "other", "queue_name": "q1"}

WRONG: dict[str, tuple[list[dict[str, Any]], str, str]] = {
    "a subset rule for the negative rule set": (
        [{"add_subset_rules": {**SUBSET, **APPLY, "inclusion_rule": False}}],
        "CFG-101",
        "subset rules go into the positive rule set alone",
    ),
    "a rule set with subset rules as a negative one": (
        [
            {"create_rule_set": {"rule_set_name": "s"}},
            {"add_subset_rules": {**SUBSET, **OTHER, "insert_rule_name": "i"}},
            {"add_rule": {"rule_name": "i", "rule_set_name": "s"}},
            {"alter_apply": {"apply_name": "app", "negative_rule_set_name": "s"}},
        ],
        "RUL-111",
        "subset rule",
    ),
    "a subset rule in a negative rule set": (
        [
            {"create_rule_set": {"rule_set_name": "s"}},
            {"alter_capture": {"capture_name": "cap", "negative_rule_set_name": "s"}},
            {"add_subset_rules": {**SUBSET, **OTHER, "insert_rule_name": "i"}},
            {"add_rule": {"rule_name": "i", "rule_set_name": "s"}},
        ],
        "RUL-111",
        "subset rule",
    ),
    "a message rule of a capture process": (
        [{"add_message_rule": {"message_type": "own.m", "rule_condition": ":msg.f = 1", **CAPTURE}}],
        "RUL-110",
        "captures no user messages",
    ),
    "a schema rule of a synchronous capture": (
        [{"add_schema_rules": {"schema_name": "hr", "streams_type": "sync_capture", "streams_name": "sync"}}],
        "RUL-110",
        "no schema and no global rules",
    ),
    "a global rule of a synchronous capture": (
        [{"add_global_rules": {"streams_type": "sync_capture", "streams_name": "sync"}}],
        "RUL-110",
        "no schema and no global rules",
    ),
    "a negative rule of a synchronous capture": (
        [
            {
                "add_table_rules": {
                    "table_name": "hr.t", "streams_type": "sync_capture", "streams_name": "sync",
                    "inclusion_rule": False,
                }
            }
        ],
        "RUL-110",
        "positive rule set alone",
    ),
    "a NULL condition": (
        [{"create_rule": {"rule_name": "r", "condition": None}}],
        "RUL-105",
        "is empty",
    ),
    "an empty condition": (
        [{"create_rule": {"rule_name": "r", "condition": " "}}],
        "RUL-105",
        "is empty",
    ),
    "a rule that gets a NULL condition": (
        [
            {"create_rule": {"rule_name": "r", "condition": "1 = 1"}},
            {"alter_rule": {"rule_name": "r", "condition": ""}},
        ],
        "RUL-105",
        "is empty",
    ),
}  # fmt: skip
"""Calls that the channel file gets besides its rules, with the code of the error and what it says."""


def begun(databases: Any, folder: Path) -> StreamsChannel:
    target = {"name": "site", "location": databases.target, "apply": "app"}
    channel = streams_channel(folder, databases.source, *RULES, targets=[target], message_types=TYPES)
    for place in (databases.source, databases.target):
        run(place, *BATTERY_TABLES)
    channel.activate()
    return channel


@pytest.mark.req("ST-S-43", "ST-U-21", "ST-M-01", "ST-T-08", "ST-T-09", "ST-N-02", "ST-S-63")
@pytest.mark.parametrize("what", WRONG)
def test_a_running_channel_whose_file_gets_such_a_rule(what: str, databases: Any, tmp_path: Path) -> None:
    calls, code, text = WRONG[what]
    channel = begun(databases, tmp_path)
    channel.at_source("INSERT INTO hr.t VALUES (1)")
    channel.stage(flow.replicate)
    channel.at_source("INSERT INTO hr.t VALUES (2)")
    channel.change(calls=[*RULES, *calls])
    for stage in (flow.replicate, flow.activate, flow.capture):
        with pytest.raises(DdlReplError, match=text) as refused:
            channel.stage(stage)
        assert (refused.value.code, refused.value.exit_code) == (code, Exit.USAGE)
        assert refused.value.hint
    assert ask(databases.target, "SELECT id FROM hr.t") == [(1,)]
    channel.at_source("INSERT INTO hr.t VALUES (3)")
    channel.change(calls=[*RULES])
    assert channel.stage(flow.replicate).capture.rows == 2
    assert ask(databases.target, "SELECT id FROM hr.t ORDER BY 1") == [(1,), (2,), (3,)]
