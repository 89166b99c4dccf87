"""Every code has one meaning, which is listed: raised by the product, named by a test, and by no page that is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from airflow_ddlrepl import errors
from airflow_ddlrepl.errors.codes import CODES, FAMILIES, LISTED
from docs.tools.product_code import ROOT, modules
from docs.tools.site.codes_page import kinds
from docs.tools.site.error_sites import LISTING, sites

pytestmark = pytest.mark.xdist_group("product_read")  # one process reads the product, not each

QUOTED = re.compile(r"\"([A-Z]{3}-\d{3})\"")
WORD = re.compile(r"\b(?!HVR|XR)[A-Z]{3}-\d{3}\b")
SHARED = {
    "ADP-104": "adapt engines",
    "ADP-105": "adapt engines",
    "ADP-107": "adapt engines",
    "ADP-110": "adapt engines ports",
    "ADP-112": "adapt ddl",
    "ADP-148": "engines mapping ports",
    "ADP-152": "adapt flow",
    "ADP-153": "adapt engines",
    "ADP-158": "adapt flow",
    "ADP-164": "engines ports",
    "ADP-174": "adapt engines",
    "ADP-178": "engines flow",
    "ADP-190": "adapt engines",
    "CFG-104": "config engines",
    "ADP-191": "adapt cli",
    "APL-112": "engines flow",
    "CFG-132": "flow operators",
    "CFG-133": "flow operators",
    "CTL-102": "flow operators repository",
    "CUT-102": "flow operators",
    "CUT-106": "cli flow",
    "LCK-102": "engines repository",
    "MSG-106": "cli operators",
    "SPK-104": "engines spark",
    "SRC-105": "engines flow",
    "SRC-115": "engines flow",
    "SRC-176": "engines flow",
    "TGT-112": "engines operators",
    "TRL-103": "integrate trail",
}
"""Codes that several parts of the product raise, each with the meaning that is listed: looked at one by one."""


def codes(files: Iterable[Path], pattern: re.Pattern[str]) -> set[str]:
    return {code for file in files for code in pattern.findall(file.read_text(encoding="utf-8"))}


def raised() -> set[str]:
    return {code for one in modules() if not one.name.startswith(LISTING) for code in QUOTED.findall(one.text)}


def test_every_code_is_named_by_a_test() -> None:
    tests = codes((f for kind in ("*.py", "*.story", "*.yaml") for f in (ROOT / "tests").rglob(kind)), WORD)
    assert sorted(raised() - tests) == []


def test_every_code_of_a_page_exists() -> None:
    assert sorted(codes((ROOT / "docs").rglob("*.md"), WORD) - raised()) == []


def test_what_is_raised_is_listed_and_what_is_listed_is_raised() -> None:
    assert sorted(raised() ^ CODES.keys()) == []
    assert sorted({site.code for site in sites()} ^ CODES.keys()) == []


def test_a_code_is_listed_once_with_a_cause_and_a_remedy_in_whole_sentences() -> None:
    assert len(LISTED) == len(CODES)
    assert sorted({code[:3] for code in CODES}) == sorted(FAMILIES)
    texts = [(one.text, text) for one in LISTED for text in (one.cause, one.remedy)]
    assert [(code, text) for code, text in texts if not re.fullmatch(r"(?:docs/|[A-Z`.]).{9,}[.}]", text)] == []
    long = [(code, part) for code, text in texts for part in re.split(r"[.:;] ", text) if len(part.split()) > 25]
    assert long == []


def test_two_codes_do_not_mean_the_same() -> None:
    causes: dict[tuple[str, str], list[str]] = {}
    for one in LISTED:
        causes.setdefault((one.text[:3], one.cause), []).append(one.text)
    assert [found for found in causes.values() if len(found) > 1] == []


def test_a_code_is_raised_with_one_kind_of_error() -> None:
    """Several classes of one code have a class in common that says what they are: not only the general one."""
    mixed = {}
    for code, names in kinds().items():
        common = set.intersection(*(set(getattr(errors, name).__mro__) for name in names))
        general = set(errors.DdlReplError.__mro__)
        if not common - general and names != [errors.DdlReplError.__name__]:
            mixed[code] = names
    assert mixed == {}


def test_a_code_is_raised_with_one_meaning() -> None:
    """Where another part of the product raises it, too, somebody has looked whether it means the same there."""
    parts: dict[str, set[str]] = {}
    for site in sites():
        parts.setdefault(site.code, set()).add(site.module.removeprefix("airflow_ddlrepl/").split("/")[0])
    assert {code: " ".join(sorted(names)) for code, names in parts.items() if len(names) > 1} == SHARED
