"""What the channel file says of a table travels as a value: its text is read only where a state is stored."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.house.test_tree import tracked

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "airflow_ddlrepl"
READERS = {"airflow_ddlrepl/model/table_state.py", "airflow_ddlrepl/engines/postgres/target/state.py"}
"""The modules that store a table's state, and with it the text of its settings."""
SECTIONS = {"table_mapping", "target_tables", "mapped_rows", "channel_at"}
"""The modules of config/sections/ that say what the settings of tables are."""


def names_of(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    found |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return found | {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}


def test_settings_are_parsed_out_of_a_text_where_a_state_is_stored_only() -> None:
    product = [file for file in tracked(".py") if file.is_relative_to(PACKAGE)]
    codec = {"settings_from_text", "settings_to_text"}
    using = {file.relative_to(ROOT).as_posix() for file in product if names_of(file) & codec}
    assert using == READERS


def test_no_value_is_passed_on_as_its_text() -> None:
    """No field or parameter is called as a table's settings and is a text."""
    texts = []
    for file in (file for file in tracked(".py") if file.is_relative_to(PACKAGE)):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            named = node.target if isinstance(node, ast.AnnAssign) else node
            name = named.arg if isinstance(named, ast.arg) else getattr(named, "id", "")
            kind = node.annotation if isinstance(node, ast.AnnAssign | ast.arg) else None
            if name in ("settings", "table_settings", "properties") and kind and ast.unparse(kind) == "str":
                texts.append(file.relative_to(ROOT).as_posix())
    assert texts == []


def test_no_engine_reads_the_sections_of_the_file_that_are_about_tables() -> None:
    reading = set()
    for file in tracked(".py"):
        if file.is_relative_to(PACKAGE / "engines"):
            nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            modules = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
            reading |= {str(file) for module in modules if module.rpartition(".")[2] in SECTIONS}
    assert reading == set()
