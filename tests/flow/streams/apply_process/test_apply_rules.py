"""What an apply process takes by rules of each level, and what its rules do to messages, seen at the target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_ddlrepl import flow
from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.streams.messages import MessageClass, RowLcr, UserMessage
from airflow_ddlrepl.streams.queue.functions import takes_batches
from tests.flow.streams.apply_process.apply_client import ApplyClient, environment, transactions
from tests.flow.streams.apply_process.test_apply import APPLY, applied, begun, cycle, rules
from tests.flow.streams.apply_process.test_apply_feed import MESSAGES, TABLE, TAKES_MESSAGES, rows, t
from tests.flow.streams.streams_channel import BATTERY
from tests.postgres.apply_lcrs.applying import ask, insert
from tests.support.replica import run

EVERYTHING = set(BATTERY)
DML, DDL = {"include_ddl": False}, {"include_dml": False}
TAKEN = {
    ("global", "dml"): {"B1", "B2", "B3", "B7"},
    ("global", "ddl"): {"B4", "B5", "B6", "B8"},
    ("schema", "dml"): {"B1", "B2", "B3"},
    ("schema", "ddl"): {"B4", "B5", "B6"},
    ("table", "dml"): {"B1", "B2"},
    ("table", "ddl"): {"B4"},
}
IDS = {
    ("global", "dml"): "ST-S-18", ("global", "ddl"): "ST-S-19", ("schema", "dml"): "ST-S-20",
    ("schema", "ddl"): "ST-S-21", ("table", "dml"): "ST-S-22", ("table", "ddl"): "ST-S-23",
}  # fmt: skip
OF_LEVEL = {"global": "ST-S-50", "schema": "ST-S-70", "table": "ST-S-84"}


@pytest.mark.parametrize(
    ("level", "kind"),
    [pytest.param(*one, marks=pytest.mark.req(IDS[one], OF_LEVEL[one[0]]), id="-".join(one)) for one in TAKEN],
)
def test_rules_for_rows_or_for_ddl_alone(level: str, kind: str, databases: Any, tmp_path: Path) -> None:
    """First a negative rule set, which leaves the others; then, for another battery, a positive one."""
    more = DML if kind == "dml" else DDL
    negative = [rules("global"), rules(level, inclusion_rule=False, **more)]
    channel = begun(databases, tmp_path, *negative, code=["owner"])
    cycle(channel, *BATTERY.values())
    assert applied(databases.target) == EVERYTHING - TAKEN[level, kind]
    (tmp_path / "second").mkdir()
    run(databases.source, "DROP SCHEMA hr CASCADE", "DROP SCHEMA oe CASCADE")
    run(databases.target, "DROP SCHEMA hr CASCADE", "DROP SCHEMA oe CASCADE")
    with channel.opened() as context:
        flow.deactivate(context)
    channel = begun(databases, tmp_path / "second", rules(level, **more), code=["owner"])
    cycle(channel, *BATTERY.values())
    assert applied(databases.target) == TAKEN[level, kind]


@pytest.mark.req("ST-N-10", "ST-N-13", "ST-N-14")
def test_a_schema_but_for_one_table(databases: Any, tmp_path: Path) -> None:
    names = ("departments", "employees", "countries", "job_history")
    tables = [f"CREATE TABLE hr.{name} (id int PRIMARY KEY, k int)" for name in names]
    excluded = {**APPLY, "table_name": "hr.job_history", "include_tagged_lcr": True, "inclusion_rule": False}
    channel = begun(databases, tmp_path, rules("schema", include_ddl=False), {"add_table_rules": excluded})
    filled = "INSERT INTO hr.{} SELECT i, 0 FROM generate_series(1, 5) i"
    cycle(channel, *tables)
    run(databases.target, *tables, *(filled.format(name) for name in ("employees", "countries", "job_history")))
    channel.at_source(*(filled.format(name) for name in ("employees", "countries", "job_history")))
    channel.stage(flow.capture)
    run(databases.target, "TRUNCATE hr.employees, hr.countries")
    channel.stage(flow.apply)
    found = cycle(
        channel,
        "INSERT INTO hr.departments VALUES (270, 1)",
        "UPDATE hr.employees SET k = 1",
        "DELETE FROM hr.countries WHERE id = 1",
        "INSERT INTO hr.job_history VALUES (9, 9)",
        "UPDATE hr.job_history SET k = 7 WHERE id = 2",
        "DELETE FROM hr.job_history WHERE id = 1",
    )
    assert found.changes == {"insert": 1, "update": 5, "delete": 1}
    assert sum(n for why, n in found.discarded.items() if why.startswith("hr.job_history")) == 3
    assert ask(databases.target, "SELECT * FROM hr.departments") == [(270, 1)]
    assert ask(databases.target, "SELECT count(*), min(k) FROM hr.employees") == [(5, 1)]
    assert ask(databases.target, "SELECT count(*), max(k) FROM hr.job_history") == [(5, 0)]


@pytest.fixture
def target(databases: Any) -> str:
    run(databases.target, *TABLE, "CREATE TABLE hr.u (id int PRIMARY KEY, note text)")
    return str(databases.target)


def of_table(name: str) -> dict[str, Any]:
    return {
        "add_table_rules": {
            "table_name": f"hr.{name}", "streams_type": "apply", "streams_name": "apply_hr", "queue_name": "q",
            "source_database": "dbs1", "dml_rule_name": f"dml_{name}",
        }
    }  # fmt: skip


def by_function(rule: str) -> dict[str, Any]:
    return {"set_rule_transform_function": {"rule_name": rule, "transform_function": "changed"}}


@pytest.mark.req("ST-X-64")
def test_messages_of_all_classes_are_transformed_before_they_are_applied(target: str) -> None:
    handled = []

    def changed(message: Any) -> Any:
        if isinstance(message, UserMessage):
            return replace(message, fields={**message.fields, "n": 100})
        return replace(message, new={**message.new, "note": str(message.message_class)})

    alter = {"alter_apply": {"apply_name": "apply_hr", "message_handler": "handler"}}
    calls = (
        *(of_table("t"), of_table("u"), TAKES_MESSAGES, alter),
        *(by_function("dml_t"), by_function("dml_u"), by_function("m_rule")),
    )
    functions: dict[str, Callable[..., Any]] = {
        "changed": changed,
        "handler": lambda message, apply: handled.append(message.fields["n"]),
    }
    persistent = replace(insert("hr.u", id="1", note="x"), message_class=MessageClass.PERSISTENT)
    client = ApplyClient(target, calls, functions, MESSAGES)
    client.run(transactions([t(1), persistent, UserMessage("hr.m", {"n": 1})]))
    assert rows(target) == [(1, "captured")]
    assert ask(target, "SELECT note FROM hr.u") == [("persistent",)]
    assert handled == [100]


@pytest.mark.req("ST-X-65")
def test_declared_transformations_and_functions_for_one_message(target: str) -> None:
    without = {"delete_column": {"rule_name": "dml_t", "table_name": "hr.t", "column_name": "k"}}

    def changed(lcr: RowLcr) -> RowLcr:
        return replace(lcr, new={**lcr.new, "note": f"without k: {'k' not in lcr.new}"})

    client = ApplyClient(target, (of_table("t"), without, by_function("dml_t")), {"changed": changed})
    client.run(transactions([insert("hr.t", id="1", k="5", note="x")]))
    assert ask(target, "SELECT id, k, note FROM hr.t") == [(1, None, "without k: True")]
    for_many = {"rule_name": "dml_t", "transform_function": "changed", "is_array": True}
    with pytest.raises(RuleError) as raised:
        environment(of_table("t"), {"set_rule_transform_function": for_many})
    assert raised.value.code == "RUL-125"


def test_a_statement_follows_the_names_that_rows_get(databases: Any, tmp_path: Path) -> None:
    renamed = {"rename_table": {"rule_name": "dml", "from_table_name": "hr.t", "to_table_name": "pub.t2"}}
    column = {"rule_name": "dml", "table_name": "hr.t", "from_column_name": "note", "to_column_name": "remark"}
    channel = begun(databases, tmp_path, rules("schema", dml_rule_name="dml"), {"rename_column": column}, renamed)
    run(databases.target, "CREATE SCHEMA pub", "CREATE TABLE pub.t2 (id int PRIMARY KEY, k int, remark text)")
    cycle(
        channel,
        "INSERT INTO hr.t VALUES (1, 1, 'one')",
        "ALTER TABLE hr.t ALTER note SET DEFAULT 'new', ADD more int",
        "INSERT INTO hr.t (id, more) VALUES (2, 2)",
        "TRUNCATE hr.u",
    )
    found = ask(databases.target, "SELECT id, remark, more FROM pub.t2 ORDER BY 1")
    assert found == [(1, "one", None), (2, "new", 2)]


@pytest.mark.req("ST-X-69")
def test_rules_that_change_while_a_run_applies_count_from_the_next_run_on(databases: Any, tmp_path: Path) -> None:
    channel = begun(databases, tmp_path, rules("table"))
    channel.at_source("INSERT INTO hr.t VALUES (1, 1, 'first')")
    with channel.opened() as context:
        flow.capture(context)
        channel.change(calls=[*_calls(channel), rules("table", inclusion_rule=False)])
        assert flow.apply(context).changes == {"insert": 1}
    found = cycle(channel, "INSERT INTO hr.t VALUES (2, 2, 'second')")
    assert (found.changes, sum(found.discarded.values())) == ({}, 1)
    assert rows(databases.target) == [(1, "first")]


def _calls(channel: Any) -> list[Any]:
    found: list[Any] = yaml.safe_load(channel.file.read_text())["streams"]["calls"]
    return found


def test_a_function_for_batches_is_refused(target: str) -> None:
    @takes_batches
    def changed(batch: Any) -> Any:
        return batch

    with pytest.raises(RuleError) as raised:
        ApplyClient(target, (of_table("t"), by_function("dml_t")), {"changed": changed}).run(transactions([t(1)]))
    assert raised.value.code == "RUL-146"


@pytest.mark.req("ST-R-14")
def test_buffered_messages_are_passed_over_with_the_reason(target: str) -> None:
    rules_of = ApplyClient(target).rules
    [one] = transactions([replace(t(1), message_class=MessageClass.BUFFERED), t(2)])
    assert [len(rules_of.taken(message)) for message in one.messages] == [0, 1]
    assert rules_of.discarded == {"hr.t: an apply process takes no buffered messages": 1}


@pytest.mark.req("ST-R-26")
def test_without_rule_sets_no_condition_is_evaluated(target: str) -> None:
    rules_of = ApplyClient(target).rules
    [one] = transactions([t(1), t(2)])
    assert [len(rules_of.taken(message)) for message in one.messages] == [1, 1]
    assert rules_of.evaluated == 0
