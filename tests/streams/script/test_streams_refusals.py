"""What changes rows, values, statements or loops is refused in scripts for Streams, and no call is passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_ddlrepl.notation.import_findings import Fate
from airflow_ddlrepl.streams.script.compile import compile_script
from airflow_ddlrepl.streams.script.importing import import_streams
from tests.streams.script.test_import_streams import CALL, block, calls, compiled, findings

OURS = "dbms_streams_adm.add_table_rules('hr.t', 'apply', 'a', 'q')"


@pytest.mark.parametrize(
    "script",
    [
        f"CALL {OURS};\n",
        f"call {OURS}\n/\n",
        f"CALL\n  {OURS.replace(', ', ',' + chr(10) + '  ')}\n;\n",
        f"exec {OURS}\n",
        f"CALL {OURS};\nSELECT 1 FROM dual;\n",
    ],
)
def test_calls_outside_of_blocks_are_read(script: str) -> None:
    found = compile_script(script)
    assert [list(one) for one in calls(found)] == [["add_table_rules"]]
    assert findings(found, Fate.REFUSED) == []


@pytest.mark.parametrize(
    "script",
    [
        f"CALL {OURS} INTO :x;\n",
        f"foo {OURS};\n",
        f"!echo {OURS}\n",
        f"HOST echo {OURS}\n",
        f"SELECT {OURS} FROM dual;\n",
        f"INSERT INTO jobs VALUES ('BEGIN {OURS.replace(chr(39), chr(39) * 2)}; END;');\n",
        f"WITH x AS (SELECT 1 FROM dual) SELECT {OURS} FROM x;\n",
        "@rules.sql\n",
        "START rules.sql\n",
        block(f"EXCEPTION WHEN OTHERS THEN {OURS}; END;"),
        block(f"dbms_scheduler.create_job('j', 'PLSQL_BLOCK', q'[begin {OURS}; end;]');"),
        block(f"dbms_job.submit(:j, q'[{OURS};]');"),
        block(f"own.p({OURS}, 1,,);"),
        block("DBMS_XSTREAM_ADM.CREATE_OUTBOUND(server_name => 'x');"),
        block("dbms_goldengate_adm.add_auto_cdr('hr', 't');"),
        block("s := 'BEGIN dbms_streams_adm.add_table_rules(''''' || t || ''''); END;';", "EXECUTE IMMEDIATE s;"),
        block("own.run('begin dbms_apply_adm.start_it(' || t || '); end;');"),
        block("s := 'begin dbms_apply_adm.start_it(';", "DBMS_SQL.PARSE(c, s || x, 1);"),
        block("DBMS_AQADM.SCHEDULE_PROPAGATION('q', 'other');"),
        block('"DBMS_STREAMS_ADM"."NEW_PROCEDURE"(1);'),
        block("IF x THEN dbms_xstream_adm.add_outbound('x'); END IF;"),
    ],
)
def test_a_call_that_is_not_read_is_never_passed_over(script: str) -> None:
    found = compile_script(script)
    assert calls(found) == []
    assert findings(found, Fate.REFUSED) != []


@pytest.mark.parametrize(
    "script",
    [
        "GRANT EXECUTE ON dbms_streams_adm TO strmadmin;\n",
        "PROMPT now dbms_streams_adm.add_table_rules runs\n",
        "REM dbms_streams_adm.add_table_rules\n",
        "SELECT DBMS_STREAMS.GET_TAG FROM dual;\n",
        "-- dbms_streams_adm.add_table_rules('x');\n",
        block("dbms_output.put_line('now dbms_streams_adm.add_table_rules(' || t || ')');"),
    ],
)
def test_what_calls_nothing_is_not_refused(script: str) -> None:
    assert findings(compile_script(script), Fate.REFUSED) == []


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("DBMS_APPLY_ADM.ADD_STMT_HANDLER('hr.t', 'INSERT', 'h');", "in place of changes"),
        ("DBMS_STREAMS_HANDLER_ADM.CREATE_STMT_HANDLER('h');", "in place of changes"),
        ("DBMS_APPLY_ADM.SET_UPDATE_CONFLICT_HANDLER('hr.t', 'MAXIMUM');", "waits in the error queue"),
        ("DBMS_APPLY_ADM.COMPARE_OLD_VALUES('hr.t', 'a');", "waits in the error queue"),
        ("DBMS_AQADM.ADD_SUBSCRIBER('q', sys.aq$_agent('a', null, null), 'x = 1');", "rule: a messaging client"),
        ("DBMS_AQADM.ADD_SUBSCRIBER('q', s, transformation => 'a.b');", "transformation: messages have one format"),
        ("DBMS_CAPTURE_ADM.SET_PARAMETER('c', 'ignore_transaction', '1.2.3');", "by rules alone"),
        ("DBMS_CAPTURE_ADM.SET_PARAMETER('c', parameter => 'maximum_scn', value => '77');", "without such a limit"),
        ("DBMS_CAPTURE_ADM.SET_PARAMETER('c', '_odd', '77');", "the parameter _odd is not known"),
        ("DBMS_APPLY_ADM.CREATE_APPLY('q', 'a', apply_tag => '1F');", "always has a tag"),
        ("DBMS_STREAMS_ADM.ADD_TABLE_RULES('<OWNER>.t', 'dequeue', 'a', 'q');", "fill the placeholder in"),
        ("DBMS_STREAMS_ADM.ADD_TABLE_RULES('${S}.t', 'dequeue', 'a', 'q');", "fill the placeholder in"),
        ("DBMS_STREAMS_ADM.ADD_TABLE_RULES('[hr].t', 'dequeue', 'a', 'q');", "fill the placeholder in"),
        ("DBMS_STREAMS_ADM.ADD_SCHEMA_RULES('%s', 'dequeue', 'a', 'q');", "fill the placeholder in"),
        ("DBMS_CAPTURE_ADM.CREATE_CAPTURE('q', 'c');", "it would take every change"),
    ],
)
def test_what_would_change_what_arrives_is_refused(statement: str, why: str) -> None:
    found = compiled(statement)
    assert calls(found) == []
    assert any(why in text for _, _, text in findings(found, Fate.REFUSED)), found.findings


def test_a_capture_process_has_the_rules_of_a_later_call() -> None:
    rules = "DBMS_STREAMS_ADM.ADD_SCHEMA_RULES('hr', 'capture', 'c', 'q');"
    created = "DBMS_CAPTURE_ADM.CREATE_CAPTURE('q', 'c');"
    found = compiled(created, rules)
    assert len(calls(found)) == 2 and findings(found, Fate.REFUSED) == []
    found = compiled(created, rules.replace("'hr'", "get_name()"))
    assert calls(found) == [] and sorted(line for line, _, _ in findings(found, Fate.REFUSED)) == [2, 3]


@pytest.mark.parametrize(
    ("parameter", "value"), [("parallelism", "3"), ("maximum_scn", "infinite"), ("_SGA_SIZE", "200")]
)
def test_parameters_that_leave_nothing_out_are_ignored(parameter: str, value: str) -> None:
    found = compiled(f"DBMS_CAPTURE_ADM.SET_PARAMETER('c', '{parameter}', '{value}');")
    assert {one.fate for one in found.findings} == {Fate.SAFE}


CONTEXT = """DECLARE
  ac SYS.RE$NV_LIST;
  ac_name VARCHAR2(30) := 'STREAMS$_TRANSFORM_FUNCTION';
BEGIN
  ac := SYS.RE$NV_LIST(SYS.RE$NV_ARRAY());
  ac.ADD_PAIR(ac_name, SYS.ANYDATA.CONVERTVARCHAR2('hr.to_management'));
  DBMS_RULE_ADM.CREATE_RULE('r', ':dml.get_object_owner() = ''HR''', action_context => ac);
END;
/
"""
CHANGE = """DECLARE
  ac SYS.RE$NV_LIST;
BEGIN
  SELECT RULE_ACTION_CONTEXT INTO ac FROM DBA_RULES WHERE RULE_NAME = 'R';
  IF ac IS NULL THEN
    ac := SYS.RE$NV_LIST(SYS.RE$NV_ARRAY());
  ELSE
    ac.REMOVE_PAIR('STREAMS$_TRANSFORM_FUNCTION');
  END IF;
  ac.ADD_PAIR('APPLY$_EXECUTE', SYS.ANYDATA.CONVERTVARCHAR2('NO'));
  DBMS_RULE_ADM.ALTER_RULE('r', action_context => ac);
END;
/
"""


def test_pairs_of_action_contexts_are_calls() -> None:
    found = compile_script(CONTEXT)
    assert findings(found, Fate.REFUSED) == []
    assert calls(found)[1:] == [
        {"set_rule_transform_function": {"rule_name": "r", "transform_function": "hr.to_management"}}
    ]
    assert found.environment.rules["R"].action.function == "hr.to_management"


def test_pairs_are_added_to_those_of_a_rule_and_taken_from_it() -> None:
    found = compile_script(CONTEXT + CHANGE)
    assert findings(found, Fate.REFUSED) == []
    assert found.environment.rules["R"].action.pairs == {"APPLY$_EXECUTE": "NO"}
    replaced = CONTEXT.replace("CREATE_RULE('r', ':dml.get_object_owner() = ''HR'''", "ALTER_RULE('r'")
    found = compile_script(CONTEXT + CHANGE + replaced)
    assert found.environment.rules["R"].action.pairs == {"STREAMS$_TRANSFORM_FUNCTION": "hr.to_management"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("ac_name, SYS", "'MY_PAIR', SYS"),
        ("'hr.to_management'", "get_function()"),
        ("  DBMS_RULE", "  IF x THEN ac.ADD_PAIR('A', SYS.ANYDATA.CONVERTVARCHAR2('b')); END IF;\n  DBMS_RULE"),
        ("  DBMS_RULE", "  ac := own.context();\n  DBMS_RULE"),
        ("  DBMS_RULE", "  IF x THEN ac.REMOVE_PAIR(ac_name); END IF;\n  DBMS_RULE"),
        ("  DBMS_RULE", "  IF ac IS NULL THEN ac := own.context(); END IF;\n  DBMS_RULE"),
    ],
)
def test_an_action_context_that_is_not_known_is_refused(before: str, after: str) -> None:
    found = compile_script(CONTEXT.replace(before, after))
    assert calls(found) == []
    assert len(findings(found, Fate.REFUSED)) == 1


def test_a_context_that_would_take_transformations_away_is_refused() -> None:
    rename = "DBMS_STREAMS_ADM.RENAME_SCHEMA('r', 'hr', 'hq');"
    replaced = CONTEXT.replace("CREATE_RULE('r', ':dml.get_object_owner() = ''HR'''", "ALTER_RULE('r'")
    found = compile_script(CONTEXT + block(rename) + replaced)
    assert ["take away the transformations" in why for _, _, why in findings(found, Fate.REFUSED)] == [True]


def test_the_advice_for_key_columns_is_what_apply_processes_look_at() -> None:
    found = compiled("DBMS_APPLY_ADM.SET_KEY_COLUMNS('hr.t', 'a,b');", CALL.format("'hr.t'", ""))
    ((_, what, why),) = findings(found, Fate.ATTENTION)
    assert what == "SET_KEY_COLUMNS" and "ADD PRIMARY KEY" in why and "target_tables" not in why


def test_a_script_for_several_databases_is_told() -> None:
    first, second = ("CONNECT strmadmin/gehe@im@dbs1\n", "conn strmadmin/gehe@im@dbs2 as sysdba\n")
    script = first + block(CALL.format("'hr.t'", "")) + first + second + block(CALL.format("'hr.u'", ""))
    found = compile_script(script)
    assert [(line, what) for line, what, _ in findings(found, Fate.ATTENTION)] == [(7, "CONNECT")]
    assert "gehe" not in str(found.findings)


def test_bytes_that_are_no_utf_8_may_stand_in_comments_alone(tmp_path: Path) -> None:
    file = tmp_path / "setup.sql"
    file.write_bytes("-- für alle\n".encode("latin-1") + block(CALL.format("'hr.t'", "")).encode())
    assert import_streams(file).is_whole
    condition = ", and_condition => ':lcr.get_object_name() = ''Ü'''"
    for text in (CALL.format("'hr.tür'", ""), CALL.format("'hr.t'", condition)):
        file.write_bytes(block(text).encode("latin-1"))
        found = import_streams(file)
        assert not found.parameters.calls
        assert [one.why for one in found.findings if "save the script as UTF-8" in one.why]
