"""A custom function of a rule for a schema, or of rules for the tables that need it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
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
