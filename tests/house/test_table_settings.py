"""What the channel file says of a table travels as a value: its text is read only where a state is stored."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from docs.tools import product_code
from docs.tools.product_code import Module

pytestmark = pytest.mark.xdist_group("product_read")  # one process reads the product, not each

READERS = {"airflow_ddlrepl/model/table_state.py", "airflow_ddlrepl/engines/postgres/target/state.py"}
"""The modules that store a table's state, and with it the text of its settings."""
SECTIONS = {"table_mapping", "target_tables", "mapped_rows", "channel_at"}
"""The modules of config/sections/ that say what the settings of tables are."""


def names_of(module: Module) -> set[str]:
    found = {node.id for node in module.nodes(ast.Name)} | {node.attr for node in module.nodes(ast.Attribute)}
    return found | {alias.name for node in module.nodes(ast.ImportFrom) for alias in node.names}


def test_settings_are_parsed_out_of_a_text_where_a_state_is_stored_only() -> None:
    codec = {"settings_from_text", "settings_to_text"}
    assert {one.name for one in product_code.modules() if names_of(one) & codec} == READERS


def test_no_value_is_passed_on_as_its_text() -> None:
    """No field or parameter is called as a table's settings and is a text."""
    texts = []
    found: Iterator[tuple[str, ast.AnnAssign | ast.arg]] = product_code.nodes(ast.AnnAssign, ast.arg)
    for module, node in found:
        name = node.arg if isinstance(node, ast.arg) else getattr(node.target, "id", "")
        if name in ("settings", "table_settings", "properties") and node.annotation:
            texts += [module] if ast.unparse(node.annotation) == "str" else []
    assert texts == []


def test_no_engine_reads_the_sections_of_the_file_that_are_about_tables() -> None:
    imports = ((name, node.module or "") for name, node in product_code.nodes(ast.ImportFrom))
    of_engines = {(name, module) for name, module in imports if name.startswith("airflow_ddlrepl/engines/")}
    assert {name for name, module in of_engines if module.rpartition(".")[2] in SECTIONS} == set()
