"""Every code of an error is raised by some test, and the pages name no code that the product does not have."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
QUOTED = re.compile(r"\"([A-Z]{3}-\d{3})\"")
WORD = re.compile(r"\b(?!HVR|XR)[A-Z]{3}-\d{3}\b")


def codes(files: Iterable[Path], pattern: re.Pattern[str]) -> set[str]:
    return {code for file in files for code in pattern.findall(file.read_text(encoding="utf-8"))}


def test_every_code_is_named_by_a_test() -> None:
    product = codes((ROOT / "airflow_ddlrepl").rglob("*.py"), QUOTED)
    tests = codes((f for kind in ("*.py", "*.story", "*.yaml") for f in (ROOT / "tests").rglob(kind)), WORD)
    assert sorted(product - tests) == []


def test_every_code_of_a_page_exists() -> None:
    product = codes((ROOT / "airflow_ddlrepl").rglob("*.py"), QUOTED)
    assert sorted(codes((ROOT / "docs").rglob("*.md"), WORD) - product) == []
