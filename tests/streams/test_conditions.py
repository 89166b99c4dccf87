"""Conditions in Oracle's syntax: what is refused, with its place, and what is true for a message."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from airflow_ddlrepl.errors import Exit, RuleError
from airflow_ddlrepl.streams.condition.printing import text_of
from airflow_ddlrepl.streams.evaluation.messages import holds
from airflow_ddlrepl.streams.parsing.parser import parse
from airflow_ddlrepl.streams.rules.rule import make_rule
from tests.streams.making import ddl, row

NEW = ":dml.get_value('NEW','\"{}\"')"
VALUES = {
    "N": Decimal("10.5"), "T": "Abc", "D": datetime(2024, 2, 29, 12, tzinfo=UTC), "R": b"\x0a\xff", "NULL": None,
    "E": "", "P": "50%_x",
}  # fmt: skip


def read(name: str) -> str:
    access = {"N": "AccessNumber", "D": "AccessTimestamp", "R": "AccessRaw"}.get(name, "AccessVarchar2")
    return f"{NEW.format(name)}.{access}()"


@pytest.mark.parametrize(
    ("text", "code", "why"),
    [
        ("", "RUL-105", "line 1, column 1: it is empty (NULL), which is not supported"),
        ("  ", "RUL-105", "it is empty"),
        (":dml.get_x() = 1", "RUL-102", "column 6: get_x can't be called here: did you mean get_tag?"),
        (":dml.get_values('new') = 1", "RUL-102", "it gives a list: name a column with get_value"),
        (":own.get_tag() IS NULL", "RUL-104", "column 1: :own is no variable of this condition; :dml, :ddl"),
        ("region_id = 2", "RUL-104", "REGION_ID is no variable: a row's column is :dml.get_value"),
        (":dml.get_scn()\n  (+) = 1", "RUL-101", "line 2, column 3: (+) joins tables"),
        (":dml.get_object_owner = 'A'", "RUL-101", "column 23: = can't stand here: write get_object_owner()"),
        (":dml.get_command_type() = 5", "RUL-103", "a text is expected, not a number: write the number in quotes"),
        (f"{read('N')} = 'x'", "RUL-103", "'x' is no number"),
        (":dml.get_tag() = 'zz'", "RUL-103", "'zz' is no hexadecimal text"),
        (":dml.get_source_time() > '2024-01-01'", "RUL-103", "what a text means as a date is a setting"),
        (
            ":dml.get_source_time() > SYSDATE",
            "RUL-102",
            "column 26: SYSDATE is another value when a change comes again",
        ),
        (":dml.get_scn() > TO_NUMBER(:dml.get_transaction_id())", "RUL-103", "TO_NUMBER takes a text in quotes here"),
        (":ddl.get_value('NEW','A') IS NULL", "RUL-106", "get_value is a function of row LCRs alone"),
        (":dml.get_object_type() = 'TABLE'", "RUL-106", "get_object_type is a function of DDL LCRs alone"),
        ("own.f(:dml.get_scn()) = 1", "RUL-102", "OWN.F can't be called or read in a condition here"),
        ("FOO(:dml.get_scn()) = 1", "RUL-102", "the function FOO is not known here: did you mean FLOOR?"),
        ("SYS.AnyData.AccessNumber(:dml.get_scn()) = 1", "RUL-102", "SYS.ANYDATA.ACCESSNUMBER can't be called"),
        ("DBMS_STREAMS.GET_TAG() IS NULL", "RUL-102", "DBMS_STREAMS.GET_TAG can't be called"),
        (":dml IS OF (t)", "RUL-101", "a member function of :dml is expected"),
        (f"{NEW.format('N')}.GetTypeName() = 'SYS.NUMBER'", "RUL-102", "a column's type is known from its table"),
        (f"{NEW.format('N')}.AccessNumber(a => 1) = 1", "RUL-101", "A can't stand here: ) is expected"),
        (f"{NEW.format('N')} = 1", "RUL-101", "a value is read with AccessNumber()"),
        (":dml.get_scn() IN (SELECT 1 FROM t)", "RUL-101", "a condition can't look into tables"),
        (":dml.get_scn() = (SELECT 1 FROM t)", "RUL-101", "a condition can't look into tables"),
        ("EXISTS (SELECT 1 FROM t WHERE 1 = 1)", "RUL-101", "a condition can't look into tables"),
        ("1", "RUL-103", "a value stands before this where a condition should be"),
        ("(1 = 1) = (2 = 2)", "RUL-101", "= can't stand here"),
        (":dml.get_scn() = 1 AND", "RUL-101", "column 23: it ends here: a value is expected"),
        (":dml.get_object_name() = 'A", "RUL-101", "column 26: this quote is not closed"),
        (":dml.get_object_name() = q'[A]", "RUL-101", "column 27: this quote is not closed"),
        (":dml.get_scn() > 1 /* it's", "RUL-101", "column 20: this comment is not closed"),
        (":dml.get_scn() > 1e", "RUL-101", "column 19: E can't stand here"),
        (":dml.get_scn() > .5.", "RUL-101", "column 20: . can't stand here"),
        (":dml.get_object_name() = ''", "RUL-102", "'' is NULL in Oracle: write IS NULL"),
        ("(((1 = 1))", "RUL-101", "column 11: it ends here: ) is expected"),
        ("(" * 41 + "1 = 1" + ")" * 41, "RUL-101", "nested more than 40 times"),
        (f"REGEXP_LIKE({read('T')}, '(a')", "RUL-101", "the regular expression (a"),
        (f"REGEXP_LIKE({read('T')}, '[[:alpha:]]')", "RUL-102", "is not the same everywhere"),
    ],
)
def test_what_is_refused_when_the_rule_is_made(text: str, code: str, why: str) -> None:
    with pytest.raises(RuleError) as found:
        make_rule("r", text)
    assert found.value.code == code
    assert why in found.value.message
    assert found.value.message.startswith("the condition of rule r, line ")
    assert found.value.exit_code is Exit.USAGE


@pytest.mark.req("ST-S-63")
def test_a_rule_needs_a_condition() -> None:
    with pytest.raises(RuleError, match="is empty"):
        make_rule("r", None)


@pytest.mark.req("ST-S-46")
@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (":dml.get_command_type() = 'UPDATE' and :dml.get_object_owner() = 'HR'", True),
        (":dml.get_command_type() IN ('INSERT', 'DELETE') OR NOT (:dml.get_object_name() = 'T')", False),
        (":dml.get_scn() > .5 AND :dml.get_object_name() <> q'[it's]'", True),
        (":dml.get_scn() >= 5 AND :dml.get_scn() < 1e3 AND :dml.get_commit_scn() IS NULL", True),
        (":dml.get_tag() = '0A'", True),
        (":dml.is_null_tag() = 'N'", True),
        (":dml.get_transaction_id() LIKE '1.%'", True),
        (":dml.get_source_time() >= TO_DATE('2024-03-01 10:00', 'YYYY-MM-DD HH24:MI')", True),
        (":dml.get_source_time() = TIMESTAMP '2024-03-01 10:00:00 +00:00'", True),
        (":dml.get_extra_attribute('username').AccessVarchar2() = 'SCOTT'", True),
        (":dml.get_extra_attribute('tx_name') IS NULL", True),
        (":ddl.get_ddl_text() LIKE 'ALTER%'", None),
        (f"{read('N')} = '10.50'", True),
        (f"{read('N')} * 2 - 1 = 20 AND -{read('N')} < 0 AND 21 / 2 = {read('N')}", True),
        (f"{read('NULL')} = 'x' OR {read('NULL')} <> 'x'", None),
        (f"NOT ({read('NULL')} = 'x')", None),
        (f"NOT EXISTS (SELECT 1 FROM SYS.DUAL WHERE ({read('NULL')} = 'x'))", True),
        (f"{read('NULL')} = 'x' AND 1 = 2", False),
        (f"{read('T')} IN ('x', {read('NULL')})", None),
        (f"{read('T')} NOT IN ('x', NULL)", None),
        (f"{read('T')} NOT IN ('Abc', NULL)", False),
        (f"{NEW.format('NULL')} IS NOT NULL AND {read('NULL')} IS NULL", True),
        (f"{NEW.format('MISSING')} IS NULL", True),
        (f"{NEW.format('N')}.AccessVarchar2() IS NULL", True),
        (f"UPPER({read('T')}) || 'x' = 'ABCx' AND LENGTH({read('T')}) = 3 AND INSTR({read('T')}, 'b') = 2", True),
        (
            f"SUBSTR({read('T')}, -2) = 'bc' AND SUBSTR({read('T')}, 0, 2) = 'Ab' AND SUBSTR({read('T')}, 9) IS NULL",
            True,
        ),
        (f"{read('P')} LIKE '50\\%\\_%' ESCAPE '\\' AND {read('P')} NOT LIKE '5\\%%' ESCAPE '\\'", True),
        (f"REGEXP_LIKE({read('T')}, '^a.c$', 'i') AND NOT REGEXP_LIKE({read('T')}, '^a')", True),
        (
            f"MOD(-7, 3) = -1 AND ROUND(2.5) = 3 AND TRUNC(-2.7) = -2 AND BITAND(6, 3) = 2 AND ABS({read('N')}) > 10",
            True,
        ),
        (f"NVL({read('NULL')}, 'd') = 'd' AND COALESCE(NULL, {read('T')}, 'z') = 'Abc' AND NULLIF(1, 1) IS NULL", True),
        (f"DECODE({read('T')}, 'x', 1, 'Abc', 2, 3) = 2 AND DECODE({read('NULL')}, NULL, 'n', 'y') = 'n'", True),
        (f"CASE WHEN {read('N')} > 10 THEN 'big' ELSE 'small' END = 'big'", True),
        (
            f"CASE {read('T')} WHEN 'Abc' THEN 1 END = 1 "
            f"AND {read('D')} BETWEEN DATE '2024-02-29' AND DATE '2024-03-01'",
            True,
        ),
        (f"{read('R')} = HEXTORAW('0aFF') AND RAWTOHEX({read('R')}) = q'[0AFF]'", True),
        (f"GREATEST(1, {read('N')}) = 10.5 AND LEAST(1, NULL) IS NULL", True),
        (":dml.get_value('OLD','N').AccessNumber() = 1", True),
        (":dml.get_value('NEW','\"ONLY_OLD\"').AccessNumber() = 7", True),
        (":dml.get_value('NEW','\"ONLY_OLD\"','N') IS NULL", True),
    ],
)
def test_what_is_true_for_a_row(text: str, answer: Any) -> None:
    moment = datetime(2024, 3, 1, 10, tzinfo=UTC)
    lcr = row(
        "hr.t", "UPDATE", {"N": 1, "ONLY_OLD": 7}, VALUES, tag=b"\x0a",
        transaction_id="1.2.3", scn=5, source_time=moment,
        extra={"username": "SCOTT"},
    )  # fmt: skip
    condition = parse(text)
    assert holds(condition, lcr) is answer
    assert holds(parse(text_of(condition)), lcr) is answer, "the printed condition says the same"


def test_what_is_true_for_ddl() -> None:
    text = (
        ":ddl.get_command_type() = 'ALTER TABLE' AND :ddl.get_object_type() = 'TABLE' "
        "AND :ddl.get_ddl_text() LIKE '%x%' "
        "AND :ddl.get_current_schema() = 'HR' AND :ddl.get_logon_user() = 'BOB' AND :ddl.get_base_table_name() = 'T' "
        "AND :ddl.get_base_table_owner() = 'HR'"
    )
    lcr = ddl("hr.t", object_type="TABLE", text="alter table t add x int", current_schema="HR", logon_user="BOB")
    assert holds(parse(text), lcr) is True
    assert holds(parse(text), row("hr.t")) is None


def test_a_value_that_can_not_be_computed() -> None:
    with pytest.raises(RuleError, match=r"\(1 / 0\) can't be computed: division by zero") as found:
        holds(parse("1 / 0 = 1"), row("hr.t"))
    assert found.value.code == "RUL-118"
