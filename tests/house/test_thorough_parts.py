"""Every thorough test is in one part, whatever the number of parts, and a run takes the part that it is told."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests import long_tests
from tests.thorough_parts import LONG, VARIABLE, chosen, name, part_of

ROOT = Path(__file__).parents[2]
NAMES = [f"tests/some/test_it.py::test_it[{number}]" for number in range(900)]


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
def test_each_test_is_in_one_part(parts: int) -> None:
    takes = [chosen({VARIABLE: f"{part}/{parts}"}) for part in range(1, parts + 1)]
    assert {sum(take(test) for take in takes) for test in (*NAMES, *LONG)} == {1}
    counts = Counter(part_of(test, parts) for test in NAMES)
    assert set(counts) == set(range(1, parts + 1)) and min(counts.values()) > 0.7 * len(NAMES) / parts


def test_long_tests_are_dealt_out_there_and_back() -> None:
    assert [part_of(test, 3) for test in LONG[:7]] == [1, 2, 3, 3, 2, 1, 1]


def test_long_tests_exist() -> None:
    for long in LONG:
        file, _, test = long.partition("::")
        assert f"def {test.partition('[')[0]}(" in (ROOT / file).read_text(encoding="utf-8")


def test_the_group_of_a_test_does_not_move_it() -> None:
    test = "tests/spark/test_it.py::test_it[a@b]"
    assert name(f"{test}@spark") == test
    assert {part_of(f"{test}@spark", parts) - part_of(test, parts) for parts in range(1, 9)} == {0}


def test_a_run_without_a_part_takes_all() -> None:
    assert all(map(chosen({}), NAMES))


@pytest.mark.parametrize("text", ["0/3", "4/3", "2", "a/b", "1/0"])
def test_a_part_that_there_is_not_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="as 2/3 does"):
        chosen({VARIABLE: text})


def test_long_tests_are_found_in_what_a_run_prints_and_are_there() -> None:
    """Setup and teardown count; a test that is gone, or has another name, is no longer in the list."""
    log = (
        "2.00s call     tests/flow/test_a.py::test_one[x]@group\n"
        "1.50s setup    tests/flow/test_a.py::test_one[x]@group\n"
        "2.40s call     tests/flow/test_a.py::test_two\n9.00s call     tests/house/test_a.py::test_three\n"
    )
    assert long_tests.found(log) == ["tests/flow/test_a.py::test_one"]
    for long in long_tests.names():
        file, _, function = long.partition("::")
        assert re.search(rf"^ *def {function.rpartition('::')[2]}\(", (ROOT / file).read_text(), re.M), long
