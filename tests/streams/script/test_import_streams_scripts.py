"""`ddlrepl import streams`: what scripts as people have them do around the calls."""

from __future__ import annotations

import pytest

from airflow_ddlrepl.notation.import_findings import Fate
from airflow_ddlrepl.streams.script.compile import compile_script
from tests.streams.script.test_import_streams import CALL, block, calls, compiled, findings

OUR_CALL = CALL.format("'a.b'", "")


@pytest.mark.parametrize(
    "setting",
    [
        "IF x > 1 THEN t := 'a.c'; END IF;",
        "FOR i IN 1..2 LOOP t := 'a.c'; END LOOP;",
        "IF x THEN SELECT 'a.c' INTO t FROM dual; END IF;",
        "BEGIN NULL; EXCEPTION WHEN OTHERS THEN t := 'a.c'; END;",
        "EXECUTE IMMEDIATE 'SELECT n FROM x' INTO t;",
        "EXECUTE IMMEDIATE 'BEGIN p(:1, :2); END;' USING x, OUT t;",
        "UPDATE x SET n = 1 RETURNING n INTO t;",
        "SELECT n BULK COLLECT INTO t FROM x;",
        "t(1) := 'a.c';",
        "t.name := 'a.c';",
        "own.names.next_name(t);",
        "own.names.next_name(name => t);",
        "IF x THEN DBMS_STREAMS_ADM.ADD_COLUMN(rule_name => t); END IF;",
    ],
)
def test_a_variable_that_something_else_may_have_set_is_not_known(setting: str) -> None:
    found = compiled(setting, CALL.format("t", ""), declare="DECLARE\nt VARCHAR2(61) := 'a.b';\n")
    assert calls(found) == []
    assert [line for line, _, why in findings(found, Fate.REFUSED) if why.startswith("table_name is T,")] == [5]


def test_a_variable_that_is_only_read_stays_known() -> None:
    reading = ["IF t = 'a.b' THEN x := 1; END IF;", "DBMS_OUTPUT.PUT_LINE(t);", "INSERT INTO t VALUES (t);"]
    found = compiled(*reading, CALL.format("t", ""), declare="DECLARE\nt VARCHAR2(61) := 'a.b';\nx NUMBER;\n")
    assert calls(found)[0]["add_table_rules"]["table_name"] == "a.b"


@pytest.mark.parametrize("link", ["dbs2", "dbs2.example.com", "&site", "&&site..example.com", " dbs2"])
def test_a_call_at_another_database_is_read_as_the_call(link: str) -> None:
    found = compiled(OUR_CALL.replace("_RULES(", f"_RULES@{link} ("), f"DBMS_RULE_ADM.ADD_RULES@{link}('a');")
    assert len(calls(found)) == 1
    assert [(line, what) for line, what, _ in findings(found, Fate.REFUSED)] == [(3, "ADD_RULES")]


def test_lines_are_those_of_the_script_behind_a_long_definition() -> None:
    condition = ", and_condition => ':lcr.get_object_name() <> ''&t'' AND :lcr.get_object_name() <> ''B&t'' '"
    statements = [CALL.format("'a.b'", condition), "NULL;", CALL.format("'b'", ""), OUR_CALL]
    found = compile_script(f"DEFINE t = {'X' * 90}\n{block(*statements)}")
    assert len(calls(found)) == 2
    assert [line for line, _, _ in findings(found, Fate.REFUSED)] == [5]


def test_variables_of_sqlplus_go_from_block_to_block() -> None:
    rename = "DBMS_STREAMS_ADM.RENAME_SCHEMA(rule_name => :r, from_schema_name => 'a', to_schema_name => 'b');"
    text = "VARIABLE r VARCHAR2(61)\n" + block(CALL.format("'a.b'", ", dml_rule_name => :r")) + block(rename)
    made, renamed = calls(compile_script(text))
    assert made["add_table_rules"]["dml_rule_name"] == renamed["rename_schema"]["rule_name"]
    found = compile_script("EXEC :t := 'a.b'\n" + block(CALL.format(":t", ""), CALL.format(":u", "")))
    assert calls(found)[0]["add_table_rules"]["table_name"] == "a.b"
    assert [why for _, _, why in findings(found, Fate.REFUSED)] == ["table_name is :U, which is not set in the block"]
    asked = block("SELECT n INTO :t FROM x;") + block(CALL.format(":t", ""))
    ((_, _, why),) = findings(compile_script("EXEC :t := 'a.b'\n" + asked), Fate.REFUSED)
    assert why == "table_name is :T, which a query gives"


@pytest.mark.parametrize(
    ("statement", "fate", "what"),
    [
        ("scn := DBMS_CAPTURE_ADM.PREPARE_SYNC_INSTANTIATION(t);", Fate.ATTENTION, "PREPARE_SYNC_INSTANTIATION"),
        ("x := DBMS_STREAMS_ADM.GET_TAGS();", Fate.REFUSED, "GET_TAGS"),
        ("x := DBMS_STREAMS_ADM.GET_TAG();", Fate.SAFE, "GET_TAG"),
        ("FOR i IN 1..2 LOOP DBMS_CAPTURE_ADM.PREPARE_TABLE_INSTANTIATION(t(i)); END LOOP;", Fate.ATTENTION, "FOR …"),
        ("WHILE i < 2 LOOP DBMS_APPLY_ADM.START_APPLY('a'); END LOOP;", Fate.SAFE, "WHILE …"),
        (f"IF a THEN DBMS_APPLY_ADM.START_APPLY('a'); {OUR_CALL} END IF;", Fate.REFUSED, "IF …"),
        ("IF a THEN s := 'BEGIN dbms_streams_adm.x; END;'; END IF;", Fate.REFUSED, "IF …"),
        (f"BEGIN NULL; EXCEPTION WHEN OTHERS THEN {OUR_CALL} END;", Fate.REFUSED, "EXCEPTION …"),
        ("EXECUTE IMMEDIATE 'ALTER TABLE t ADD SUPPLEMENTAL LOG DATA (ALL) COLUMNS';", Fate.SAFE, "SUPPLEMENTAL LOG"),
        ("DBMS_DATAPUMP.SET_PARAMETER(h, 'a', 1);", Fate.ATTENTION, "DBMS_DATAPUMP.SET_PARAMETER"),
        ("DBMS_APPLY_ADM.EXECUTE_ALL_ERRORS(apply_name => 'a');", Fate.SAFE, "EXECUTE_ALL_ERRORS"),
        ("DBMS_CAPTURE_ADM.ALTER_SYNC_CAPTURE('c', 'r');", Fate.REFUSED, "ALTER_SYNC_CAPTURE"),
    ],
)
def test_what_becomes_of_calls_that_are_not_taken(statement: str, fate: Fate, what: str) -> None:
    found = compiled(statement)
    assert calls(found) == []
    ((line, found_fate, found_what),) = [(one.line, one.fate, one.what) for one in found.findings]
    assert (line, found_fate) == (2, fate) and what.endswith(found_what)


@pytest.mark.parametrize("statement", ["WHILE a LOOP DBMS_LOCK.SLEEP(1); END LOOP;", "x := 'dbms_streams.compatible';"])
def test_what_calls_nothing_of_streams_is_not_listed(statement: str) -> None:
    assert compiled(statement).findings == []


def test_a_statement_in_a_variable_is_refused_when_it_calls_streams() -> None:
    found = compiled("s := 'BEGIN DBMS_STREAMS_ADM.ADD_TABLE_RULES(''a.b''); END;';", "EXECUTE IMMEDIATE s;")
    assert [line for line, _, _ in findings(found, Fate.REFUSED)] == [3]


def test_what_is_dropped_behind_the_calls_is_decided_by_the_reader() -> None:
    drop = "DBMS_STREAMS_ADM.REMOVE_STREAMS_CONFIGURATION();"
    found = compiled(drop, OUR_CALL, drop)
    assert [(one.line, one.fate) for one in found.findings] == [(2, Fate.SAFE), (4, Fate.REFUSED)]


def test_a_call_without_a_block_is_refused() -> None:
    found = compile_script(OUR_CALL + "\n")
    ((line, _, why),) = findings(found, Fate.REFUSED)
    assert (line, calls(found)) == (1, []) and "outside of a block" in why


def test_queue_to_queue_may_be_computed() -> None:
    names = "'a.b', 'p', source_queue_name => 'q', destination_queue_name => 'r@dbs2', queue_to_queue => f(1)"
    by_hand = "DBMS_PROPAGATION_ADM.CREATE_PROPAGATION('o', 'q', 'r', 'dbs2', queue_to_queue => TRUE);"
    found = compiled(f"DBMS_STREAMS_ADM.ADD_TABLE_PROPAGATION_RULES({names});", by_hand)
    assert len(calls(found)) == 2 and findings(found, Fate.REFUSED) == []


def test_a_copied_session_of_sqlplus() -> None:
    session = f"SQL> BEGIN\n  2  {OUR_CALL}\n  3  END;\n  4  /\nSQL> EXEC {OUR_CALL}\n"
    found = compile_script(session)
    assert len(calls(found)) == 2 and found.findings == []


def test_a_comment_with_two_slashes_behind_an_argument() -> None:
    found = compiled(CALL.format("'a.b'", ",\n  source_database => 'dbs1' // the \"main\" one, isn't it\n"))
    assert calls(found)[0]["add_table_rules"]["source_database"] == "dbs1" and findings(found, Fate.REFUSED) == []
