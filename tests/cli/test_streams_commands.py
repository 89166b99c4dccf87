"""`ddlrepl import streams` and `ddlrepl rules explain`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_ddlrepl.errors import Exit
from tests.cli.test_cli import Run, run  # noqa: F401 - the fixture

SCRIPT = Path(__file__).parents[1] / "streams" / "script" / "streams_scripts" / "hr_apply.sql"
SOURCE = ("--source", "dbs1.example.com")
JOBS = {"object": "hr.jobs", "command": "insert", "new": {"id": 1}}


def test_a_script_becomes_yaml_that_makes_the_same_rules(run: Run, tmp_path: Path) -> None:  # noqa: F811
    outcome = run("import", "streams", SCRIPT)
    assert outcome.code == Exit.DONE
    assert "needs attention: 2" in outcome.out and f"{SCRIPT}:30: SET_SCHEMA_INSTANTIATION_SCN" in outcome.out
    calls = yaml.safe_load(outcome.out)["streams"]["calls"]
    assert [next(iter(one)) for one in calls] == [
        "add_schema_rules",
        "rename_schema",
        "add_table_rules",
        "set_parameter",
    ]
    (tmp_path / "rules.yaml").write_text(outcome.out)
    asked = ("--change", json.dumps(JOBS), *SOURCE, "--json")
    of_yaml, of_script = (run("rules", "explain", file, *asked).out for file in (tmp_path / "rules.yaml", SCRIPT))
    assert json.loads(of_yaml) == json.loads(of_script)


def test_the_findings_alone(run: Run, tmp_path: Path) -> None:  # noqa: F811
    outcome = run("import", "streams", SCRIPT, "--check")
    assert outcome.code == Exit.DONE and "add_schema_rules" not in outcome.out
    (tmp_path / "x.sql").write_text("BEGIN DBMS_STREAMS_ADM.ADD_TABLE_RULES(t, 'apply'); END;\n/\n")
    refused = run("import", "streams", tmp_path / "x.sql", "--json")
    assert refused.code == Exit.FAILED
    assert [one["fate"] for one in json.loads(refused.out)["findings"]] == ["refused"]


def explained(run: Run, *arguments: str | Path) -> list[dict[str, Any]]:  # noqa: F811
    outcome = run("rules", "explain", SCRIPT, *arguments, "--json")
    assert outcome.code == Exit.DONE, outcome.err
    found: list[dict[str, Any]] = json.loads(outcome.out)
    return found


def test_a_change_that_is_taken(run: Run) -> None:  # noqa: F811
    (found,) = explained(run, "--change", json.dumps(JOBS), *SOURCE)
    assert (found["client"], found["kind"], found["taken"]) == ("APPLY", "apply", True)
    assert found["rule"] == "DML_RULE"
    negative, positive = found["rule_sets"]
    assert (negative["rules"], negative["others"], negative["true"], positive["true"]) == ([], 1, False, True)
    rules = {one["name"]: one for one in positive["rules"]}
    assert (rules["DML_RULE"]["true"], rules["DDL_RULE"]["true"]) == (True, False)
    parts = {part["text"]: part["true"] for part in rules["DML_RULE"]["parts"]}
    assert parts[":dml.get_object_name() NOT LIKE 'LOG%'"] is True


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({**JOBS, "object": "hr.log_1"}, "no positive rule is true"),
        ({**JOBS, "object": "hr.job_history"}, "negative rule JOB_HISTORY"),
        ({**JOBS, "tag": "01"}, "no positive rule is true"),
        ({**JOBS, "source_database": "dbs2"}, "no positive rule is true"),
        ({**JOBS, "class": "buffered"}, "takes no buffered messages"),
    ],
)
def test_a_change_that_is_discarded(run: Run, change: dict[str, Any], why: str) -> None:  # noqa: F811
    (found,) = explained(run, "--change", json.dumps(change), *SOURCE)
    assert (found["taken"], why in found["why"]) == (False, True)


def test_each_object_of_a_statement(run: Run) -> None:  # noqa: F811
    found = explained(run, "--statement", "drop table hr.jobs, oe.orders", *SOURCE)
    assert [one["taken"] for one in found] == [True, False]
    found = explained(run, "--statement", "create index oe.i on hr.jobs (id)", *SOURCE)
    assert [one["taken"] for one in found] == [True]
    outcome = run("rules", "explain", SCRIPT, "--statement", "alter table jobs add x int", "--schema", "HR", *SOURCE)
    lines = outcome.out.splitlines()
    assert lines[0] == "apply process APPLY takes it: positive rule DDL_RULE is true"
    assert "          true: :ddl.get_object_owner() = 'HR'   -- 'HR'" in {line[2:] for line in lines} | set(lines)


def test_rule_sets_that_no_client_has(run: Run, tmp_path: Path) -> None:  # noqa: F811
    script = """BEGIN
      DBMS_RULE_ADM.CREATE_RULE_SET('rs');
      DBMS_RULE_ADM.CREATE_RULE('r', ':dml.get_value(''NEW'', ''"ID"'').AccessNumber() > 1');
      DBMS_RULE_ADM.ADD_RULE('r', 'rs');
    END;
    /
    """
    (tmp_path / "x.sql").write_text(script)
    for number, is_true in ((2, True), (1, False)):
        change = json.dumps({**JOBS, "new": {"id": number}})
        (found,) = json.loads(run("rules", "explain", tmp_path / "x.sql", "--change", change, "--json").out)
        assert (found["name"], found["true"], found["rules"][0]["true"]) == ("RS", is_true, is_true)
    lines = run("rules", "explain", tmp_path / "x.sql", "--change", change).out.splitlines()
    assert lines[0] == "  rule set RS (of no client) is not true: 1 rule"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--change", "{"), "CFG-183"),
        ((), "CFG-183"),
        (("--change", "{}", "--statement", "x"), "CFG-183"),
        (("--statement", "vacuum"), "CFG-183"),
        (("--change", json.dumps(JOBS), "--client", "other"), "CFG-183"),
        (("--change", '{"objekt": "hr.t"}'), "RUL-126"),
        (("--change", '{"object": "t", "command": "INSERT"}'), "RUL-126"),
        (("--change", '{"object": "hr.t", "command": "INSERT", "new": {"a": []}}'), "RUL-126"),
        (("--change", '{"object": "hr.t", "command": "INSERT", "tag": "x"}'), "RUL-126"),
    ],
)
def test_questions_that_can_not_be_answered(run: Run, arguments: tuple[str, ...], code: str) -> None:  # noqa: F811
    outcome = run("rules", "explain", SCRIPT, *arguments)
    assert (outcome.code, code in outcome.err) == (Exit.USAGE, True)


@pytest.mark.parametrize("text", ["streams: {calls: [{add_table_rule: {}}]}", "streams: [", "streams: {calls: 1}"])
def test_files_that_can_not_be_read(run: Run, tmp_path: Path, text: str) -> None:  # noqa: F811
    (tmp_path / "x.yaml").write_text(text)
    outcome = run("rules", "explain", tmp_path / "x.yaml", "--change", json.dumps(JOBS))
    assert (outcome.code, "CFG-182" in outcome.err) == (Exit.USAGE, True)


@pytest.mark.req("ST-X-32")
def test_the_list_of_rules_shows_functions(run: Run, tmp_path: Path) -> None:  # noqa: F811
    table = {"table_name": "hr.t", "streams_type": "capture", "streams_name": "cap", "include_ddl": True}
    calls = [
        {"add_table_rules": {**table, "dml_rule_name": "r", "ddl_rule_name": "d"}},
        {"delete_column": {"rule_name": "r", "table_name": "hr.t", "column_name": "ssn"}},
        {"set_rule_transform_function": {"rule_name": "r", "transform_function": "hr.f"}},
        {"set_rule_transform_function": {"rule_name": "d", "transform_function": "hr.g", "is_array": True}},
        {"add_table_rules": {**table, "dml_rule_name": "n", "include_ddl": False, "inclusion_rule": False}},
    ]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"streams": {"calls": calls, "functions": {"hr.f": "m:f", "hr.g": "m:g"}}}))
    outcome = run("rules", "list", file, "--json")
    assert outcome.code == Exit.DONE, outcome.err
    assert [tuple(row.values()) for row in json.loads(outcome.out)] == [
        ("CAP", "capture", "positive", "R", "delete_column", "hr.f", "one for one"),
        ("CAP", "capture", "positive", "D", "", "hr.g", "any number"),
        ("CAP", "capture", "negative", "N", "", "", ""),
    ]
