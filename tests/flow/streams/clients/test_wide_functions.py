"""A custom function of a rule for a schema, or of rules for the tables that need it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.cli.commands import check
from airflow_ddlrepl.streams.procedures.notes import notes
from tests.flow.streams.streams_channel import BATTERY_TABLES, streams_channel
from tests.streams.making import made

CAPTURE = {"add_global_rules": {"streams_type": "capture", "streams_name": "cap", "queue_name": "q1"}}
FUNCTION = {"double": "tests.flow.streams.functions:double"}


def passing(level: str, to: str, rule: str, **about: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A propagation's rule of a level, and the function of the rule."""
    queues = {"streams_name": f"to_{to}", "source_queue_name": "q1", "destination_queue_name": to}
    return (
        {f"add_{level}_propagation_rules": {"dml_rule_name": rule, "source_database": "dbs1", **about, **queues}},
        {"set_rule_transform_function": {"rule_name": rule, "transform_function": "double"}},
    )


OF_SCHEMA = passing("schema", "q2", "wide", schema_name="hr")
OF_TABLES = (*passing("table", "q3", "one", table_name="hr.t"), *passing("table", "q3", "two", table_name="hr.u"))


@pytest.mark.req("ST-X-24")
def test_rules_of_tables_give_what_a_rule_of_the_schema_gives_until_a_table_is_added(
    databases: Any, tmp_path: Path
) -> None:
    (note,) = notes(made(CAPTURE, *OF_SCHEMA, *OF_TABLES))
    assert "for each change that rule WIDE is true for" in note
    assert "rules of the tables that need it cost less; a table that comes later needs its own" in note
    channel = streams_channel(tmp_path, databases.source, CAPTURE, *OF_SCHEMA, *OF_TABLES, functions=FUNCTION)
    channel.at_source(*BATTERY_TABLES)
    channel.activate()
    channel.at_source("INSERT INTO hr.t VALUES (1, 1)", "INSERT INTO hr.u VALUES (2, 2)", "INSERT INTO oe.o VALUES (3)")
    channel.stage(flow.capture)
    channel.stage(flow.propagate)
    assert channel.content("q2") == channel.content("q3")
    assert [line.split("'k': '")[1][0] for line in channel.content("q3")] == ["2", "4"]
    channel.at_source("CREATE TABLE hr.w (id int PRIMARY KEY, k int)", "INSERT INTO hr.w VALUES (4, 4)")
    channel.stage(flow.capture)
    channel.stage(flow.propagate)
    assert [line.split(" {")[0] for line in channel.content("q2")] == ["INSERT hr.t", "INSERT hr.u", "INSERT hr.w"]
    assert [line.split(" {")[0] for line in channel.content("q3")] == ["INSERT hr.t", "INSERT hr.u"]


HERE = "tests.flow.streams.functions"
LISTED = {"hides": f"{HERE}:hides_notes_of_t", "ten": f"{HERE}:ten_of_each_batch"}
APPLY = {"streams_type": "apply", "streams_name": "app", "queue_name": "q2", "source_database": "dbs1"}


def function(rule: str, name: str) -> dict[str, Any]:
    return {"set_rule_transform_function": {"rule_name": rule, "transform_function": name}}


@pytest.mark.req("ST-X-23")
def test_a_function_that_leaves_most_of_what_a_schema_rule_gives_it_is_told_with_the_share(
    databases: Any, tmp_path: Path
) -> None:
    """At a capture, a propagation and an apply process: by the run, the status and `ddlrepl check`."""
    capture = {"add_schema_rules": {**CAPTURE["add_global_rules"], "schema_name": "hr", "dml_rule_name": "captured"}}
    passed = {"streams_name": "to_q2", "source_queue_name": "q1", "destination_queue_name": "q2"}
    passed |= {"schema_name": "hr", "dml_rule_name": "passed", "source_database": "dbs1"}
    applied = {"add_schema_rules": {**APPLY, "schema_name": "hr", "dml_rule_name": "applied"}}
    calls = (
        capture, function("captured", "hides"),
        {"add_schema_propagation_rules": passed}, function("passed", "ten"),
        applied, function("applied", "hides"),
    )  # fmt: skip
    target = {"name": "site", "location": databases.target, "apply": "app"}
    channel = streams_channel(tmp_path, databases.source, *calls, functions=LISTED, targets=[target])
    channel.at_source(*BATTERY_TABLES)
    channel.activate(load=True)
    assert [one for one in check(channel.file).to_json()["warnings"] if "each call costs time" in one] == []
    channel.at_source(
        "INSERT INTO hr.t VALUES (1, 1, 'secret')", "INSERT INTO hr.u SELECT i, i FROM generate_series(1, 119) i"
    )
    done = channel.stage(flow.replicate)
    share = "left {} as they were, and each call costs time: a rule of the tables that need it, or a DML handler"
    wanted = {
        ("capture", "cap", "hides"): (120, 119),
        ("propagation", "to_q2", "ten"): (120, 109),
        ("apply", "app", "hides"): (120, 119 + 1),
    }
    assert {(use.kind, use.client, use.function): (use.calls, use.unchanged) for use in done.functions} == wanted
    texts = [f"function hides of rule captured {share.format('119 of 120 changes (99 %)')}",
             f"function ten of rule passed {share.format('109 of 120 changes (90 %)')}",
             f"function hides of rule applied {share.format('120 of 120 changes (100 %)')}"]  # fmt: skip
    assert [hint[: len(text)] for hint, text in zip(done.hints, texts, strict=True)] == texts
    assert done.to_json()["hints"] == list(done.hints)
    found = channel.stage(flow.status)
    assert (
        "function hides of capture cap, called as postgres: 120 messages, 119 of them left as they were" in found.text()
    )
    assert sorted((use["kind"], use["unchanged"]) for use in found.to_json()["functions"]) == [
        ("apply", 120), ("capture", 119), ("propagation", 109)
    ]  # fmt: skip
    told = [one for one in check(channel.file).to_json()["warnings"] if "each call costs time" in one]
    assert sorted(hint[: len(text)] for hint, text in zip(sorted(told), sorted(texts), strict=True)) == sorted(texts)


@pytest.mark.req("ST-X-23")
def test_a_function_of_a_table_s_rule_may_leave_most_of_what_it_gets(databases: Any, tmp_path: Path) -> None:
    capture = {"add_table_rules": {**CAPTURE["add_global_rules"], "table_name": "hr.u", "dml_rule_name": "captured"}}
    channel = streams_channel(tmp_path, databases.source, capture, function("captured", "hides"), functions=LISTED)
    channel.at_source(*BATTERY_TABLES)
    channel.activate()
    channel.at_source("INSERT INTO hr.u SELECT i, i FROM generate_series(1, 200) i")
    done = channel.stage(flow.replicate)
    assert [(use.calls, use.unchanged) for use in done.functions] == [(200, 200)]
    assert done.hints == ()
