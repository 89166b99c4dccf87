"""Mutations: each one can be applied to the tree, and names requirements that there are."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.mutations.mutation import ROOT, Stale, mutations
from tests.requirements_plugin import catalogue


def test_the_text_of_each_mutation_is_in_its_file_once() -> None:
    stale = []
    for one in mutations():
        text = (ROOT / one.file).read_text(encoding="utf-8")
        try:
            assert one.applied(text) != text, one.name
            if one.file.endswith(".py"):
                compile(one.applied(text), one.file, "exec")
        except Stale as error:
            stale.append(str(error))
    assert stale == []


def test_mutations_name_requirements_that_exist() -> None:
    assert {name for one in mutations() for name in one.ids} <= catalogue().keys()
    assert [one.name for one in mutations() if not one.proofs] == []


def test_mutations_name_tests_that_exist() -> None:
    gone = []
    for one in mutations():
        for test in one.tests:
            file, _, name = test.partition("::")
            text = (ROOT / file).read_text(encoding="utf-8") if (ROOT / file).is_file() else ""
            if not text or f"def {name.partition('[')[0]}" not in text:
                gone.append(test)
    assert gone == []


def test_no_two_mutations_have_one_name() -> None:
    counts = Counter((one.chapter, one.name) for one in mutations())
    assert [name for name, count in counts.items() if count > 1] == []


def test_a_mutation_whose_text_is_gone_is_told() -> None:
    with pytest.raises(Stale, match=r"its text is 0 times in .*, not once"):
        mutations()[0].applied("")
