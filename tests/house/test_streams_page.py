"""The page about Oracle Streams has a row for each procedure and view, with the tests that show it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from airflow_ddlrepl.streams.calls import section

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "streams.md").read_text(encoding="utf-8")
NAMED = """
    ADD_GLOBAL_RULES ADD_SCHEMA_RULES ADD_TABLE_RULES ADD_SUBSET_RULES ADD_MESSAGE_RULE ADD_SCHEMA_PROPAGATION_RULES
    ADD_TABLE_PROPAGATION_RULES ADD_SUBSET_PROPAGATION_RULES ADD_MESSAGE_PROPAGATION_RULE ADD_COLUMN DELETE_COLUMN
    KEEP_COLUMNS RENAME_COLUMN RENAME_SCHEMA RENAME_TABLE SET_RULE_TRANSFORM_FUNCTION ALTER_CAPTURE EXECUTE_ERROR
    DBMS_STREAMS_ADM DBMS_RULE_ADM DBMS_CAPTURE_ADM DBMS_APPLY_ADM DBMS_TRANSFORM DBA_STREAMS_COLUMNS
    DBA_STREAMS_UNSUPPORTED DBA_STREAMS_TRANSFORM_FUNCTION STREAMS$_EVALUATION_CONTEXT STREAMS$_TRANSFORM_FUNCTION
    STREAMS$_ARRAY_TRANS_FUNCTION RE$NV_LIST IS_NULL_TAG
    """
"""What Oracle's chapters about rules and about rule-based transformations name."""
OTHERWISE = {"remove_client_rule": "REMOVE_RULE"}
"""Procedures that have another name here."""


def rows() -> list[tuple[str, str, str]]:
    """The table's rows: procedure or view, here, tests."""
    _, _, rest = PAGE.partition("| Procedure or view | Here | Test |\n|---|---|---|\n")
    table = rest.partition("\n\n")[0]
    found = [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in table.splitlines()]
    return [(procedure, here, test) for procedure, here, test in found]


def named(cell: str) -> set[str]:
    """The names in a row's first cell."""
    return set(re.findall(r"[A-Z][A-Z_$]*[A-Z]", cell))


def test_every_procedure_and_view_has_a_row() -> None:
    known = set().union(*(named(procedure) for procedure, _, _ in rows()))
    ours = {OTHERWISE.get(name, name.upper()) for name in section.procedures()}
    assert sorted((ours | set(NAMED.split())) - known) == []


@pytest.mark.parametrize(("procedures", "tests"), [(row[0], row[2]) for row in rows()])
def test_the_tests_of_a_row_exist_and_call_its_procedures(procedures: str, tests: str) -> None:
    places = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", tests)
    texts = [(ROOT / file).read_text(encoding="utf-8") for file, _ in places]
    assert places and all(f"def {test}(" in text for (_, test), text in zip(places, texts, strict=True) if test)
    ours = {name for name in section.procedures() if OTHERWISE.get(name, name.upper()) in named(procedures)}
    if "DBMS_RULE_ADM" in procedures or "`DBMS_STREAMS_ADM`" not in procedures:
        ours.discard("remove_client_rule")
    else:
        ours.discard("remove_rule")
    levels = re.compile(r"add_(global|schema|table)_(propagation_)?rules")  # tests write the level as a variable
    missing = {name for name in ours if not any(name in text.lower() for text in texts) and not levels.match(name)}
    assert sorted(missing) == []
