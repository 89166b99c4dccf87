"""What `check`, `rules explain` and `ddl explain` say is what an administrator can trust."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_ddlrepl.cli.commands import check
from airflow_ddlrepl.cli.explain_ddl import Files, explain, record_of
from airflow_ddlrepl.cli.explain_rules import Question, explain_rules
from airflow_ddlrepl.errors import RuleError

CHANGE = '{"object": "hr.t", "command": "INSERT", "new": {"a": 1}}'


def channel(folder: Path, streams: dict[str, Any] | None = None, extract: dict[str, Any] | None = None) -> Path:
    data: dict[str, Any] = {
        "channel": "hr",
        "repository": str(folder / "repository.db"),
        "trail": str(folder / "trail"),
        "source": {"location": "postgresql://a@localhost/a", "tables": ["hr.*"]},
    }
    if streams is not None:
        data["streams"] = streams
    else:
        data["targets"] = [{"name": "t", "location": "postgresql://a@localhost/b"}]
    if extract is not None:
        data["source"]["extract"] = extract
    file = folder / "hr.yml"
    file.write_text(yaml.safe_dump(data))
    return file


def captures(*names: str) -> list[dict[str, Any]]:
    return [
        {"add_table_rules": {"table_name": "hr.t", "streams_type": "capture", "streams_name": name, "queue_name": "q"}}
        for name in names
    ]


def test_a_second_capture_process_is_found_by_check(tmp_path: Path) -> None:
    check(channel(tmp_path, {"calls": captures("one")}))
    with pytest.raises(RuleError, match="RUL-140: there are 2 capture processes, one and two"):
        check(channel(tmp_path, {"calls": captures("one", "two")}))


@pytest.mark.parametrize(
    "call",
    [
        {"set_rule_transform_function": {"rule_name": "r", "transform_function": "hr.f"}},
        {"create_apply": {"apply_name": "x", "queue_name": "q", "ddl_handler": "hr.f"}},
        {"create_apply": {"apply_name": "x", "queue_name": "q", "precommit_handler": "hr.f"}},
        {"set_dml_handler": {"object_name": "hr.t", "operation_name": "INSERT", "user_procedure": "hr.f"}},
    ],
)
def test_functions_and_handlers_that_are_not_listed_are_found_by_check(call: dict[str, Any], tmp_path: Path) -> None:
    rules = {
        "table_name": "hr.t",
        "streams_type": "apply",
        "streams_name": "a",
        "queue_name": "q",
        "dml_rule_name": "r",
    }
    calls = [{"add_table_rules": rules}, call]
    with pytest.raises(RuleError, match=r"RUL-134: function hr\.f is not on the channel's list"):
        check(channel(tmp_path, {"calls": calls}))
    check(channel(tmp_path, {"calls": calls, "functions": {"hr.f": "nowhere.module:f"}}))


def test_an_extract_without_tables_whose_clauses_are_about_tables_is_a_warning(tmp_path: Path) -> None:
    told = check(channel(tmp_path, extract={"ddl": {"include": [{"scope": "MAPPED"}]}})).to_json()["warnings"]
    assert [one for one in told if "no statement is MAPPED" in one]
    listed = {"tables": ["hr.*"], "ddl": {"include": [{"scope": "MAPPED"}]}}
    assert "no statement is MAPPED" not in str(check(channel(tmp_path, extract=listed)).to_json()["warnings"])


SCRIPT = """BEGIN
DBMS_STREAMS_ADM.ADD_TABLE_RULES('hr.t', 'capture', 'c', 'q', dml_rule_name => :r);
{}
DBMS_STREAMS_ADM.RENAME_COLUMN(:r, 'hr.t', 'a', 'b');
DBMS_STREAMS_ADM.RENAME_SCHEMA(:r, 'hr', 'hq');
END;
/
"""


def test_a_change_is_shown_as_the_client_leaves_it(tmp_path: Path) -> None:
    file = tmp_path / "setup.sql"
    file.write_text(SCRIPT.format("DBMS_STREAMS_ADM.SET_RULE_TRANSFORM_FUNCTION(:r, 'hr.f');"))
    found = explain_rules(file, Question(CHANGE))
    (client,) = found.to_json()
    assert client["becomes"] == {"object": "HQ.T", "command": "INSERT", "new": {"B": 1}, "class": "captured"}
    assert client["function"] == "hr.f" and found.is_whole
    assert f"  it becomes {json.dumps(client['becomes'])}\n  then hr.f is called for it" in found.text()
    other = explain_rules(file, Question(CHANGE.replace("hr.t", "hr.u"))).to_json()[0]
    assert (other["taken"], other["becomes"], other["function"]) == (False, None, None)


def test_what_is_refused_in_a_script_is_told_before_the_verdict(tmp_path: Path) -> None:
    file = tmp_path / "setup.sql"
    negative = "DBMS_STREAMS_ADM.ADD_TABLE_RULES('hr.&x', 'capture', 'c', 'q', inclusion_rule => FALSE);"
    file.write_text(SCRIPT.format(negative))
    found = explain_rules(file, Question(CHANGE))
    assert found.text().startswith(
        f"refused in the script: 1; what follows is without it\n  {file}:3: ADD_TABLE_RULES: "
    )
    assert not found.is_whole and "refused" in found.to_json()[-1]


def test_a_transformation_that_stops_the_client_is_told(tmp_path: Path) -> None:
    file = tmp_path / "setup.sql"
    file.write_text(SCRIPT.format("DBMS_STREAMS_ADM.ADD_COLUMN(:r, 'hr.t', 'b', SYS.ANYDATA.CONVERTNUMBER(2));"))
    (client,) = explain_rules(file, Question(CHANGE)).to_json()
    assert client["taken"] and client["becomes"] is None and client["stops"].startswith("RUL-122")


def test_the_nearest_clause_is_named(tmp_path: Path) -> None:
    file = tmp_path / "e.prm"
    file.write_text("EXTRACT e\nDDL INCLUDE OPTYPE ALTER OBJTYPE INDEX INCLUDE MAPPED OPTYPE CREATE\nTABLE hr.*;\n")
    files = Files(file, None, None)
    (found,) = explain(record_of("DROP TABLE hr.t", "postgres", "public"), files).evaluations
    assert found.nearest == "include[1], MAPPED OPTYPE CREATE: the operation is DROP"
    assert f"     {'nearest clause':<23}include[1]" in "\n".join(found.lines())
    (found,) = explain(record_of("CREATE TABLE hr.t (a int)", "postgres", "public"), files).evaluations
    assert found.nearest == ""


def test_what_is_refused_in_a_parameter_file_is_told_before_the_evaluation(tmp_path: Path) -> None:
    file = tmp_path / "e.prm"
    file.write_text("EXTRACT e\nDDL INCLUDE MAPPED\nTABLE p1.hr.a;\nTABLE p2.hr.b;\n")
    found = explain(record_of("DROP TABLE hr.b", "postgres", "public"), Files(file, None, None))
    assert found.text().startswith(
        f"refused in the files: 1; what follows is without it\n  {file}:4:7: TABLE p2.hr.b: "
    )
    assert "refused" in found.to_json()[-1]
