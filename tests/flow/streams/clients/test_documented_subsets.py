"""The documentation's scenarios of subsets and of rule sets, between the clients that it has them at."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl import flow
from airflow_ddlrepl.flow.streams.propagation import propagate
from tests.flow.streams.streams_channel import StreamsChannel, streams_channel
from tests.streams.sentences import TRUE_FOR, combinations
from tests.support.refusing import ask
from tests.support.replica import run

EMPLOYEES = (
    "CREATE SCHEMA hr",
    "CREATE TABLE hr.employees (employee_id int PRIMARY KEY, last_name text, department_id int)",
)
APPLY = {"streams_type": "apply", "streams_name": "app", "queue_name": "q2", "source_database": "dbs1"}
ALL = {"add_global_rules": {"streams_type": "capture", "streams_name": "cap", "queue_name": "q1"}}
PASSED_ON = {
    "add_global_propagation_rules": {
        "streams_name": "prop", "source_queue_name": "q1", "destination_queue_name": "q2", "source_database": "dbs1",
    }
}  # fmt: skip
GOES_ON = {"set_parameter": {"apply_name": "app", "parameter": "disable_on_error", "value": "N"}}


def begun(folder: Path, databases: Any, *calls: dict[str, Any]) -> StreamsChannel:
    """The target has the table already, without a row."""
    target = {"name": "dbs2", "location": databases.target, "apply": "app"}
    channel = streams_channel(folder, databases.source, *calls, targets=[target])
    channel.at_source(*EMPLOYEES, "INSERT INTO hr.employees VALUES (100, 'King', 90), (101, 'Hunold', 60)")
    run(databases.target, *EMPLOYEES)
    channel.activate()
    return channel


@pytest.mark.req("ST-U-40", "ST-U-41")
@pytest.mark.parametrize("is_subset_table", [False, True], ids=["rows of all departments", "a subset table"])
def test_the_subset_of_a_capture_process_at_a_table_with_rows_of_all_departments(
    is_subset_table: bool, databases: Any, tmp_path: Path
) -> None:
    """The update becomes an INSERT of an employee who is there already; at a subset table it is applied."""
    subset = {"table_name": "hr.employees", "dml_condition": "department_id = 50", "streams_type": "capture"}
    captured = {"add_subset_rules": {**subset, "streams_name": "cap", "queue_name": "q1"}}
    channel = begun(tmp_path, databases, captured, PASSED_ON, {"add_global_rules": APPLY}, GOES_ON)
    if not is_subset_table:
        run(databases.target, "INSERT INTO hr.employees VALUES (100, 'King', 90), (101, 'Hunold', 60)")
    channel.at_source("UPDATE hr.employees SET department_id = 50 WHERE employee_id = 100")
    channel.stage(flow.capture)
    channel.stage(propagate)
    inserted = "INSERT hr.employees {'employee_id': 100, 'last_name': 'King', 'department_id': 50}"
    assert channel.content("q1") == channel.content("q2") == [inserted]
    found = channel.stage(flow.apply)
    employees = "SELECT * FROM hr.employees ORDER BY 1"
    if is_subset_table:
        assert (found.changes, found.errors) == ({"insert": 1}, 0)
        assert ask(databases.target, employees) == [(100, "King", 50)]
        return
    assert (found.changes, found.errors) == ({}, 1)
    assert ask(databases.target, employees) == [(100, "King", 90), (101, "Hunold", 60)]
    with channel.opened() as context:
        (waiting,) = flow.queued_errors(context)
    assert waiting["code"] == "23505"


STATES = {"None": "", "Exists but is empty": "empty_{}", "Exists with rules": "with_rules_{}"}


def rule_sets() -> list[dict[str, Any]]:
    """Four rule sets: positive and negative ones, empty and with a rule for the names that they are true for."""
    calls: list[dict[str, Any]] = []
    for which, names in TRUE_FOR.items():
        listed = ", ".join(f"'{name}'" for name in names)
        condition = f":dml.get_value('NEW', '\"last_name\"').AccessVarchar2() IN ({listed})"
        calls += [
            *({"create_rule_set": {"rule_set_name": STATES[state].format(which)}} for state in [*STATES][1:]),
            {"create_rule": {"rule_name": f"rule_{which}", "condition": condition}},
            {"add_rule": {"rule_name": f"rule_{which}", "rule_set_name": f"with_rules_{which}"}},
        ]
    return calls


@pytest.mark.req(*(req for req, *_ in combinations()))
def test_nine_propagations_with_the_nine_combinations_of_rule_sets(databases: Any, tmp_path: Path) -> None:
    calls = [{"create_capture": {"queue_name": "q1", "capture_name": "cap"}}, *rule_sets()]
    for req, negative, positive, _ in combinations():
        sets = {
            "rule_set_name": STATES[positive].format("positive") or None,
            "negative_rule_set_name": STATES[negative].format("negative") or None,
        }
        names = {"propagation_name": f"p_{req[-2:]}", "source_queue": "q1", "destination_queue": f"to_{req[-2:]}"}
        calls.append({"create_propagation": {**names, **{key: name for key, name in sets.items() if name}}})
    channel = streams_channel(tmp_path, databases.source, *calls)
    channel.at_source(*EMPLOYEES)
    channel.activate()
    channel.at_source(
        *(f"INSERT INTO hr.employees VALUES ({number}, '{name}', 50)" for number, name in enumerate("abcd"))
    )
    channel.stage(flow.capture)
    channel.stage(propagate)
    for req, negative, positive, wanted in combinations():
        found = re.findall(r"'last_name': '(\w)'", "".join(channel.content(f"to_{req[-2:]}")))
        assert "".join(found) == wanted, (negative, positive)


@pytest.mark.req("ST-N-07", "ST-N-08", "ST-N-09")
def test_three_ways_to_leave_one_table_of_a_schema_out(databases: Any, tmp_path: Path) -> None:
    """Rules for each other table, NOT in an and_condition, a rule in the negative rule set: a new table is the test."""

    def rules(level: str, to: str, **more: Any) -> dict[str, Any]:
        about = {"schema_name": "hr"} if level == "schema" else {}
        queues = {"streams_name": f"p_{to}", "source_queue_name": "q1", "destination_queue_name": to}
        return {f"add_{level}_propagation_rules": {**about, **queues, "source_database": "dbs1", **more}}

    calls = (
        *(rules("table", "by_table", table_name=f"hr.{name}") for name in ("employees", "jobs")),
        rules("schema", "by_not", and_condition="NOT (:lcr.get_object_name() = 'job_history')"),
        rules("schema", "by_negative"),
        rules("table", "by_negative", table_name="hr.job_history", include_tagged_lcr=True, inclusion_rule=False),
    )
    channel = streams_channel(tmp_path, databases.source, ALL, *calls)
    channel.at_source(*EMPLOYEES, *(f"CREATE TABLE hr.{name} (id int PRIMARY KEY)" for name in ("jobs", "job_history")))
    channel.activate()
    tables = ("employees", "jobs", "job_history", "new")
    channel.at_source("CREATE TABLE hr.new (id int PRIMARY KEY)", *(f"INSERT INTO hr.{t} VALUES (1)" for t in tables))
    channel.stage(flow.capture)
    channel.stage(propagate)

    def found(queue: str) -> list[str]:
        return [line.split()[1].removeprefix("hr.") for line in channel.content(queue)]

    assert found("q1") == [*tables]
    assert found("by_table") == ["employees", "jobs"]
    assert found("by_not") == found("by_negative") == ["employees", "jobs", "new"]


@pytest.mark.req("ST-U-31", "ST-U-32", "ST-U-33")
def test_the_subset_of_an_apply_process_by_a_column_that_its_table_does_not_have(
    databases: Any, tmp_path: Path
) -> None:
    """The log has all columns of the table at dbs2 and postal_code, which is not in it: rows come and go whole."""
    of = {"table_name": "hr.locations", "dml_condition": "postal_code = '00989'", **APPLY}
    names = {f"{kind}_rule_name": kind for kind in ("insert", "update", "delete")}
    without = [
        {"delete_column": {"rule_name": rule, "table_name": "hr.locations", "column_name": "postal_code"}}
        for rule in names.values()
    ]
    calls = (ALL, PASSED_ON, {"add_subset_rules": {**of, **names}}, *without)
    target = {"name": "dbs2", "location": databases.target, "apply": "app"}
    channel = streams_channel(tmp_path, databases.source, *calls, targets=[target])
    channel.at_source(
        "CREATE SCHEMA hr",
        "CREATE TABLE hr.locations (location_id int PRIMARY KEY, city text, postal_code text)",
        "ALTER TABLE hr.locations ALTER city SET STORAGE EXTERNAL",
    )
    run(databases.target, "CREATE SCHEMA hr", "CREATE TABLE hr.locations (location_id int PRIMARY KEY, city text)")
    channel.activate()
    channel.at_source(
        f"INSERT INTO hr.locations VALUES (1, '{'Roma' * 3000}', '00989'), (2, '{'Tokyo' * 3000}', '1689')",
        "UPDATE hr.locations SET postal_code = '00989' WHERE location_id = 2",
        "UPDATE hr.locations SET postal_code = '1689' WHERE location_id = 1",
    )
    found = channel.stage(flow.replicate).apply
    assert found.changes == {"insert": 2, "delete": 1}
    assert ask(databases.target, "SELECT * FROM hr.locations") == [(2, "Tokyo" * 3000)]
