"""Columns that an apply process can't write, and columns that the server itself can't show as text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import ApplyError, DdlReplError
from airflow_ddlrepl.streams.messages import RowLcr
from tests.flow.streams.streams_channel import APPLY, streams_channel
from tests.flow.streams.sync_capturing import Capturing, rule
from tests.support.refusing import ask
from tests.support.replica import run

CAPTURE = {"add_global_rules": {"streams_type": "capture", "streams_name": "cap", "queue_name": "q1"}}
TABLES = ("excluded", "transformed", "handled", "without_remedy")


def handle(lcr: RowLcr, apply: Any) -> None:
    apply.execute(replace(lcr, new={name: value for name, value in lcr.new.items() if name != "mood"}))


@pytest.mark.req("ST-S-60")
def test_a_column_that_the_target_can_t_have_is_excluded_in_three_ways(databases: Any, tmp_path: Path) -> None:
    calls: tuple[dict[str, Any], ...] = (
        *({"add_table_rules": {"table_name": f"hr.{one}", "dml_rule_name": one, **APPLY}} for one in TABLES),
        {"add_table_rules": {"table_name": "hr.excluded", "inclusion_rule": False, **APPLY}},
        {"delete_column": {"rule_name": "transformed", "table_name": "hr.transformed", "column_name": "mood"}},
        {"set_dml_handler": {"object_name": "hr.handled", "operation_name": "DEFAULT", "user_procedure": "handle"}},
    )
    target = {"name": "site", "location": databases.target, "apply": "app"}
    functions = {"handle": f"{__name__}:handle"}
    channel = streams_channel(tmp_path, databases.source, CAPTURE, *calls, targets=[target], functions=functions)
    channel.at_source(
        "CREATE SCHEMA hr",
        "CREATE TYPE hr.mood AS ENUM ('good', 'bad')",
        *(f"CREATE TABLE hr.{one} (id int PRIMARY KEY, mood hr.mood)" for one in TABLES),
    )
    run(databases.target, "CREATE SCHEMA hr", *(f"CREATE TABLE hr.{one} (id int PRIMARY KEY)" for one in TABLES))
    channel.activate()
    channel.at_source(*(f"INSERT INTO hr.{one} VALUES (1, 'good')" for one in TABLES))
    channel.stage(flow.capture)
    with pytest.raises(ApplyError, match="has no column mood") as error:
        channel.stage(flow.apply)
    assert error.value.code == "APL-110"
    with channel.opened() as context:
        (waiting,) = flow.queued_errors(context)
    assert waiting["code"] == "APL-104"
    counts = ",".join(f"(SELECT count(*) FROM hr.{one})" for one in TABLES)
    assert ask(databases.target, f"SELECT {counts}") == [(0, 1, 1, 0)]


NO_TEXT = (
    "CREATE TYPE hr.secret",
    "CREATE FUNCTION hr.secret_in(cstring) RETURNS hr.secret LANGUAGE internal IMMUTABLE STRICT AS 'textin'",
    "CREATE FUNCTION hr.secret_out(hr.secret) RETURNS cstring LANGUAGE internal AS 'pg_ddl_command_out'",
    "CREATE TYPE hr.secret (INPUT = hr.secret_in, OUTPUT = hr.secret_out, INTERNALLENGTH = VARIABLE)",
    "CREATE TABLE hr.t (id int PRIMARY KEY, v hr.secret)",
)
"""A table with a column of a type whose values the server shows to nobody."""
ROW = "INSERT INTO hr.t VALUES (1, 'x')"
WITHOUT = {"delete_column": {"rule_name": "r", "table_name": "hr.t", "column_name": "v"}}


@pytest.mark.req("ST-X-51")
@pytest.mark.parametrize("transformations", [[], [WITHOUT]], ids=["as it is", "deleted"])
def test_a_capture_process_can_t_transform_a_column_that_it_can_t_read(
    transformations: list[dict[str, Any]], databases: Any, tmp_path: Path
) -> None:
    of_table = {"streams_type": "capture", "streams_name": "cap", "queue_name": "q1"}
    rules = {"add_table_rules": {"table_name": "hr.t", "dml_rule_name": "r", **of_table}}
    channel = streams_channel(tmp_path, databases.source, rules, *transformations)
    channel.at_source("CREATE SCHEMA hr", *NO_TEXT)
    channel.activate()
    channel.at_source(ROW)
    with pytest.raises(DdlReplError, match="cannot display a value of type"):
        channel.stage(flow.capture)
    assert channel.content("q1") == []


@pytest.mark.req("ST-X-51")
@pytest.mark.parametrize("transformations", [[], [WITHOUT]], ids=["as it is", "deleted"])
def test_a_synchronous_capture_can_t_transform_a_column_that_it_can_t_read(
    transformations: list[dict[str, Any]], databases: Any, tmp_path: Path
) -> None:
    capturing = Capturing(databases.source, tmp_path, [rule(), *transformations])
    capturing.at_source("CREATE SCHEMA hr", *NO_TEXT)
    capturing.capture()
    with pytest.raises(psycopg.DatabaseError, match="cannot display a value of type"):
        capturing.at_source(ROW)
    assert capturing.rows("SELECT count(*) FROM hr.t") == [(0,)]
