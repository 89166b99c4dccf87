"""Custom functions of rules, called on a server: many messages for one, none, other tables, other texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import RuleError
from tests.flow.streams import functions
from tests.flow.streams.streams_channel import BATTERY_TABLES, CAPTURE, StreamsChannel, streams_channel

Call = dict[str, dict[str, Any]]
QUEUES = {"streams_name": "p", "source_queue_name": "q1", "destination_queue_name": "q2"}
PLACES = "tests.flow.streams.functions"
EVERYTHING: Call = {"add_global_rules": {**CAPTURE, "include_ddl": True}}


def calls_function(rule: str, name: str, *, is_array: bool = False) -> Call:
    return {"set_rule_transform_function": {"rule_name": rule, "transform_function": name, "is_array": is_array}}


def at_propagation(rule: str, command: str = "", **more: Any) -> Call:
    condition = {"and_condition": f":lcr.get_command_type() = '{command}'"} if command else {}
    return {"add_table_propagation_rules": {"table_name": "hr.t", "dml_rule_name": rule, **condition, **QUEUES, **more}}


def begun(databases: Any, folder: Path, *calls: Call) -> StreamsChannel:
    names = [name for name in dir(functions) if callable(getattr(functions, name)) and name.islower()]
    listed = {name: f"{PLACES}:{name}" for name in names if getattr(functions, name).__module__ == functions.__name__}
    channel = streams_channel(folder, databases.source, *calls, functions=listed)
    channel.at_source(*BATTERY_TABLES)
    channel.activate()
    return channel


def ran(channel: StreamsChannel, *statements: str) -> list[str]:
    """What has come into the propagation's queue."""
    channel.at_source(*statements)
    channel.stage(flow.capture)
    channel.stage(flow.propagate)
    return channel.content("q2")


@pytest.mark.req("ST-X-12", "ST-X-43", "ST-X-44")
@pytest.mark.parametrize(("name", "notes"), [("three", ["one", "two", "three"]), ("nothing", [])])
def test_a_capture_process_gives_any_number_of_messages_for_one(
    name: str, notes: list[str], databases: Any, tmp_path: Path
) -> None:
    of_t = {"add_table_rules": {"table_name": "hr.t", "dml_rule_name": "r", **CAPTURE}}
    of_u = {"add_table_rules": {"table_name": "hr.u", **CAPTURE}}
    channel = begun(databases, tmp_path, of_t, of_u, calls_function("r", name, is_array=True))
    channel.at_source("INSERT INTO hr.t VALUES (1, 2, 'Ann')", "INSERT INTO hr.u VALUES (3, 4)")
    channel.stage(flow.capture)
    found = channel.content("q1")
    assert [line.split("'note': ")[1].strip("'}") for line in found[:-1]] == notes
    assert found[-1].startswith("INSERT hr.u")


@pytest.mark.req("ST-X-12", "ST-X-36", "ST-X-37")
def test_rules_call_functions_of_their_own_where_they_are_true_and_nowhere_else(databases: Any, tmp_path: Path) -> None:
    functions.CALLS.clear()
    calls = (at_propagation("r1", "INSERT"), calls_function("r1", "counted"))
    others = (at_propagation("r2", "UPDATE"), calls_function("r2", "double"))
    channel = begun(databases, tmp_path, EVERYTHING, *calls, *others, at_propagation("r3", "DELETE"))
    found = ran(
        channel,
        "INSERT INTO hr.t VALUES (1, 2, 'Ann')",
        "UPDATE hr.t SET k = 4",
        "INSERT INTO hr.u VALUES (3, 4)",
        "DELETE FROM hr.t",
    )
    assert [line.split()[0] for line in found] == ["INSERT", "UPDATE", "DELETE"]
    assert "'k': '2', 'note': 'ANN'" in found[0].replace("'k': 2", "'k': '2'")
    assert "'k': '8', 'note': 'Ann'" in found[1].replace("'k': 8", "'k': '8'")
    assert functions.CALLS == {"INSERT hr.t": 1}


@pytest.mark.req("ST-X-25")
def test_a_function_gives_an_lcr_of_its_own_making(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, EVERYTHING, at_propagation("r"), calls_function("r", "fresh"))
    (found,) = ran(channel, "INSERT INTO hr.t VALUES (5, 2, 'Ann')")
    assert found.startswith("INSERT made.up {'id': ") and "'n': " in found


@pytest.mark.req("ST-X-21", "ST-X-22")
def test_a_function_that_renames_the_table_of_a_statement_has_to_change_its_text(
    databases: Any, tmp_path: Path
) -> None:
    """One that changes the name alone stops the propagation; the text is passed on once the function is another one."""
    rules = at_propagation("r", include_ddl=True, ddl_rule_name="d")
    channel = begun(databases, tmp_path, EVERYTHING, rules, calls_function("d", "only_named"))
    channel.at_source("ALTER TABLE hr.t ADD added int")
    channel.stage(flow.capture)
    with pytest.raises(RuleError, match=r"a statement about hr\.t with an LCR of pub\.t"):
        channel.stage(flow.propagate)
    assert channel.content("q2") == []
    channel.change(calls=[EVERYTHING, rules, calls_function("d", "to_pub")])
    channel.stage(flow.propagate)
    assert channel.content("q2") == ["ALTER TABLE pub.t ADD added int"]


@pytest.mark.req("ST-Z-01")
def test_rows_are_migrated_then_changed_as_declared_then_given_to_the_function(databases: Any, tmp_path: Path) -> None:
    """The update becomes an insert, its column k is renamed, and the function sees an insert with the new name."""
    functions.CALLS.clear()
    names = {f"{kind}_rule_name": kind[0] for kind in ("insert", "update", "delete")}
    subset = {"table_name": "hr.t", "dml_condition": "k = 50", **names, **QUEUES}
    renamed = {"from_column_name": "k", "to_column_name": "dept", "table_name": "hr.t"}
    channel = begun(
        databases,
        tmp_path,
        EVERYTHING,
        {"add_subset_propagation_rules": subset},
        {"rename_column": {"rule_name": "i", **renamed}},
        calls_function("i", "counted"),
    )
    found = ran(channel, "INSERT INTO hr.t VALUES (1, 80, 'Ann')", "UPDATE hr.t SET k = 50")
    assert [line.split(" {")[0] for line in found] == ["INSERT hr.t"]
    assert "'dept': " in found[0] and "'k'" not in found[0] and "'note': 'ANN'" in found[0]
    assert functions.CALLS == {"INSERT hr.t": 1}
