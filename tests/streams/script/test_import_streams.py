"""`ddlrepl import streams`: a SQL script becomes calls, and what is not taken of it is listed with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.notation.import_findings import Fate
from airflow_ddlrepl.streams.calls.section import procedures
from airflow_ddlrepl.streams.procedures.run import environment_of
from airflow_ddlrepl.streams.script.compile import Compiler, compile_script
from airflow_ddlrepl.streams.script.importing import import_streams
from tests.streams.making import DBS1, client, row, taken

SCRIPTS = Path(__file__).parent / "streams_scripts"


def calls(found: Compiler) -> list[dict[str, Any]]:
    dumped: list[dict[str, Any]] = found.parameters().model_dump(mode="json", exclude_defaults=True).get("calls", [])
    return dumped


def findings(found: Compiler, fate: Fate) -> list[tuple[int, str, str]]:
    return [(one.line, one.what, one.why) for one in found.findings if one.fate is fate]


def block(*statements: str, declare: str = "") -> str:
    return f"{declare}BEGIN\n" + "\n".join(statements) + "\nEND;\n/\n"


def compiled(*statements: str, declare: str = "") -> Compiler:
    return compile_script(block(*statements, declare=declare))


def test_a_script_of_an_apply_process() -> None:
    found = compile_script((SCRIPTS / "hr_apply.sql").read_text())
    apply = {"streams_type": "apply", "streams_name": "apply", "queue_name": "strmadmin.streams_queue"}
    assert calls(found) == [
        {
            "add_schema_rules": {
                "schema_name": "hr", **apply, "include_ddl": True, "source_database": "dbs1.example.com",
                "dml_rule_name": "DML_RULE", "ddl_rule_name": "DDL_RULE",
                "and_condition": ":lcr.get_object_name() NOT LIKE 'LOG%'",
            }
        },
        {"rename_schema": {"rule_name": "DML_RULE", "from_schema_name": "hr", "to_schema_name": '"Staff"'}},
        {
            "add_table_rules": {
                "table_name": "hr.job_history", **apply, "include_tagged_lcr": True,
                "source_database": "dbs1.example.com", "inclusion_rule": False,
            }
        },
        {"set_parameter": {"apply_name": "apply", "parameter": "disable_on_error", "value": "n"}},
    ]  # fmt: skip
    assert [line for line, _, _ in findings(found, Fate.SAFE)] == [6, 33, 36]
    attention = findings(found, Fate.ATTENTION)
    assert [(line, what) for line, what, _ in attention] == [
        (14, "ADD_SCHEMA_RULES"), (30, "SET_SCHEMA_INSTANTIATION_SCN"),
    ]  # fmt: skip
    assert "name the kinds that you want in `code`" in attention[0][2]
    assert findings(found, Fate.REFUSED) == []
    of = client(environment_of(found.parameters()), "apply", "apply")
    changes = [row(f"hr.{name}", source_database=DBS1) for name in ("jobs", "log_1", "job_history")]
    assert taken(of, changes) == [True, False, False]


def test_a_script_of_messages() -> None:
    found = compile_script((SCRIPTS / "messages.sql").read_text())
    parameters = found.parameters()
    fields = {"region": "text", "priority": "number", "message": "text"}
    assert parameters.message_types == {"strmadmin.region_pri_msg": fields}
    (call,) = calls(found)
    assert call["add_message_rule"]["rule_condition"] == ":msg.region = 'EUROPE' AND :msg.priority = '1' "
    assert found.findings == []


CAPTURE_USER = (
    "capture_user strmadmin of capture process CAP has no effect: the client works as the user of the location of the"
    " source; give that location the user whose rights it shall have, and remove capture_user"
)


def test_a_script_of_rules_by_hand() -> None:
    found = compile_script((SCRIPTS / "by_hand.sql").read_text())
    assert [next(iter(one)) for one in calls(found)] == [
        "create_rule_set", "create_rule", "add_rule", "create_capture", "add_subset_propagation_rules",
    ]  # fmt: skip
    assert findings(found, Fate.ATTENTION)[0] == (8, "CREATE_CAPTURE", CAPTURE_USER)
    assert findings(found, Fate.REFUSED) == []
    capture = client(environment_of(found.parameters()), "capture", "cap")
    assert taken(capture, [row("oe.orders", new={"AMOUNT": amount}) for amount in (5000, 10)]) == [True, False]


def test_a_user_of_a_client_needs_attention_and_is_not_refused() -> None:
    created = "DBMS_APPLY_ADM.CREATE_APPLY(queue_name => 'q', apply_name => 'a', apply_user => {});"
    found = compiled(created.format("'hr_app'"), "DBMS_APPLY_ADM.ALTER_APPLY('a', apply_user => '&who');")
    ((first, _, known), (second, what, asked)) = findings(found, Fate.ATTENTION)
    assert (first, second, what) == (2, 3, "ALTER_APPLY apply_user")
    assert known.startswith("apply_user hr_app of apply process A has no effect")
    assert all("the user of the location of its target; give that location the user" in why for why in (known, asked))
    assert calls(found)[0]["create_apply"]["apply_user"] == "hr_app" and len(calls(found)) == 2
    assert findings(found, Fate.REFUSED) == [] == findings(compiled(created.format("NULL")), Fate.ATTENTION)


CALL = "DBMS_STREAMS_ADM.ADD_TABLE_RULES(table_name => {}, streams_type => 'dequeue'{});"


@pytest.mark.parametrize(
    ("statements", "line", "why"),
    [
        ([CALL.format("'&t'", "")], 2, "table_name is &t, which SQL*Plus asks for"),
        (["NULL;", CALL.format("get_name(1)", "")], 3, "GET_NAME(…), which is computed when the script runs"),
        (["SELECT 'a.b' INTO t FROM dual;", CALL.format("t", "")], 3, "T, which a query gives"),
        ([CALL.format("x", "")], 2, "X, which is not set in the block"),
        ([CALL.format("'t'", "")], 2, "RUL-113: t is no table's name"),
        ([CALL.format("'a.b'", ", and_condition => ':lcr.get_x() = 1'")], 2, "RUL-102: the condition of and_condition"),
        ([CALL.format("'a.b'", ", tables => 'x'")], 2, "it has no parameter tables. did you mean table_name?"),
        (["DBMS_STREAMS_ADM.ADD_TABLE_RULE('a.b');"], 2, "it is not known. did you mean"),
        (["DBMS_STREAMS_ADM.MAINTAIN_SCHEMAS(schema_names => 'hr');"], 2, "it sets up a whole configuration"),
        (["IF x THEN", CALL.format("'a.b'", ""), "END IF;"], 2, "what is called in it depends on the run"),
        (["FOR t IN (SELECT * FROM x) LOOP", CALL.format("t.n", ""), "END LOOP;"], 2, "depends on the run"),
        (["EXECUTE IMMEDIATE 'BEGIN DBMS_STREAMS_ADM.X; END;';"], 2, "it is built when the script runs"),
        (["DBMS_STREAMS_ADM.ADD_TABLE_RULES(table_name => 'a.b',,);"], 2, ", can't stand here: it is not read"),
        (
            ["DBMS_RULE_ADM.CREATE_RULE('r', '1=1', NULL, ac);"],
            2,
            "it has 4 parameters without names: name those behind 3",
        ),
        (["DBMS_RULE_ADM.CREATE_EVALUATION_CONTEXT('e');"], 2, "no evaluation context of their own"),
    ],
)
def test_what_depends_on_a_run_or_is_wrong_is_refused_with_its_line(statements: list[str], line: int, why: str) -> None:
    found = compiled(*statements)
    assert calls(found) == []
    ((at, _, told),) = findings(found, Fate.REFUSED)
    assert (at, why in told) == (line, True), told


@pytest.mark.parametrize(
    ("script", "what"),
    [
        ("BEGIN\n" + CALL.format("'a.b'", ""), "its BEGIN has no END;"),
        ("BEGIN\nx := 'a;\nEND;\n/\n", "a quote is not closed (line 2)"),
        ("CREATE PROCEDURE p IS BEGIN DBMS_STREAMS_ADM.ADD_TABLE_RULES(t); END;\n/\n", "depends on its callers"),
        ("DECLARE\nPROCEDURE p IS BEGIN NULL; END;\nBEGIN\np;\nEND;\n/\n", "depends on its callers"),
    ],
)
def test_blocks_that_can_not_be_read(script: str, what: str) -> None:
    found = compile_script(script)
    assert calls(found) == []
    assert any(what in why for _, _, why in findings(found, Fate.REFUSED))


def test_what_hangs_on_a_refused_call_is_refused_too() -> None:
    refused = CALL.format("'&t'", ", dml_rule_name => r")
    rename = "DBMS_STREAMS_ADM.RENAME_SCHEMA(rule_name => r, from_schema_name => 'a', to_schema_name => 'b');"
    found = compiled(refused, rename, declare="DECLARE\nr VARCHAR2(30);\n")
    assert [why for _, _, why in findings(found, Fate.REFUSED)][1:] == [
        "rule_name is R, the name of a rule of ADD_TABLE_RULES, which is refused"
    ]


def test_one_variable_for_the_rules_of_several_calls() -> None:
    statements = [CALL.format(f"'a.{name}'", ", dml_rule_name => r") for name in "bc"]
    rename = "DBMS_STREAMS_ADM.RENAME_SCHEMA(rule_name => r, from_schema_name => 'a', to_schema_name => 'b');"
    first, second, renamed = calls(compiled(*statements, rename, declare="DECLARE r VARCHAR2(30);\n"))
    assert first["add_table_rules"]["dml_rule_name"] == "R"
    assert second["add_table_rules"]["dml_rule_name"] == renamed["rename_schema"]["rule_name"] == "R_2"


def test_define_and_set_define_off() -> None:
    text = block(CALL.format("'&owner..t'", ""))
    assert calls(compile_script(f"DEFINE owner = hr\n{text}"))[0]["add_table_rules"]["table_name"] == "hr.t"
    condition = block(CALL.format("'a.t'", ", and_condition => ':lcr.get_object_name() = ''A&B'''"))
    assert "'A&B'" in calls(compile_script(f"SET DEFINE OFF\n{condition}"))[0]["add_table_rules"]["and_condition"]
    assert calls(compile_script(condition)) == []


@pytest.mark.parametrize("line", ["sqlplus strmadmin/geheim@db <<EOF", "!ls", "export X=1", "%s"])
def test_lines_that_are_no_script(line: str) -> None:
    found = compile_script(line + "\n" + block(CALL.format("'a.b'", "")))
    assert len(calls(found)) == 1
    ((at, what, _),) = findings(found, Fate.ATTENTION)
    assert at == 1 and "geheim" not in what


@pytest.mark.parametrize(
    "before",
    [
        "truncate table log_table\n\n",
        "select 1\nfrom dual\n",
        "CREATE TYPE list_of AS TABLE OF NUMBER\n\n\n",
        "CREATE TYPE pair AS OBJECT(\n\n a NUMBER)\n",
        "BEGIN\n  NULL;\nEND;\n",
        "EXEC DBMS_AQADM.START_QUEUE(\nqueue_name => 'q');\n",
        "EXEC DBMS_AQADM.START_QUEUE('q')\n",
    ],
)
def test_a_statement_that_is_not_ended_takes_no_block_with_it(before: str) -> None:
    found = compile_script(before + block(CALL.format("'a.b'", ", streams_name => ''")))
    assert calls(found) == [{"add_table_rules": {"table_name": "a.b", "streams_type": "dequeue"}}]


def test_comments_of_every_kind() -> None:
    text = "# shell\n// other\n-- SQL\n/* and\nthis */\nREM BEGIN\n" + block(
        "// in a block", CALL.format("'a.b'", " -- x\n")
    )
    found = compile_script(text)
    assert len(calls(found)) == 1 and found.findings == []


@pytest.mark.parametrize(
    ("others", "is_warned"),
    [
        ("source_database => 'dbs1'", False),
        ("source_database => 'other'", True),
    ],
)
def test_a_source_database_that_no_other_call_names(others: str, is_warned: bool) -> None:
    rest = "DBMS_APPLY_ADM.SET_TABLE_INSTANTIATION_SCN(source_object_name => 'a.b', source_database_name => 'DBS1')"
    found = compiled(CALL.format("'a.b'", f", {others}"), f"{rest};")
    told = [line for line, _, why in findings(found, Fate.ATTENTION) if "no other call names" in why]
    assert told == ([2, 3] if is_warned else [])


def test_warnings_about_rules_are_told_with_their_call() -> None:
    found = compiled(CALL.format("'a.b'", ", include_dml => FALSE"), CALL.format("'a.c'", ", inclusion_rule => FALSE"))
    assert [line for line, _, _ in findings(found, Fate.ATTENTION)] == [2, 3]


def test_files_that_can_not_be_imported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can't be read") as missing:
        import_streams(tmp_path / "none.sql")
    (tmp_path / "empty.sql").write_text("-- nothing\nSELECT 1 FROM dual;\n")
    with pytest.raises(ConfigError, match="calls no procedure of Oracle Streams") as empty:
        import_streams(tmp_path / "empty.sql")
    assert (missing.value.code, empty.value.code) == ("CFG-180", "CFG-181")


@pytest.mark.req("ST-X-77")
def test_mappings_between_message_formats_are_no_transformations_of_rules() -> None:
    """No call of ours is one, and the page about transformations says so."""
    mapping = "DBMS_TRANSFORM.CREATE_TRANSFORMATION(schema => 'hr', name => 'a_to_b', from_schema => 'hr');"
    found = compiled(mapping)
    assert calls(found) == []
    ((line, what, why),) = findings(found, Fate.ATTENTION)
    assert (line, what) == (2, "CREATE_TRANSFORMATION") and "maps formats of messages" in why
    assert not [name for name, one in procedures().items() if one.package == "DBMS_TRANSFORM" or "mapping" in name]
    page = (Path(__file__).parents[3] / "docs" / "streams.md").read_text()
    assert page.count("DBMS_TRANSFORM") == 1
    assert "| `DBMS_TRANSFORM` | none: it maps formats of messages" in page
