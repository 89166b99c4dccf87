"""Random histories, reproducible from their seeds: whatever happens at the source, the target equals it at the end.

DDLREPL_HISTORIES: how many seeds per version (default: 80 on PostgreSQL 18, 20 on 15);
DDLREPL_HISTORIES_FROM: the first.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.live.histories import generate, report, script, shrink

FIRST = int(os.environ.get("DDLREPL_HISTORIES_FROM", "1"))
PER_TEST = 4
SHRINK_SECONDS = 120


def _starts(count: int, first: int) -> range:
    return range(first, first + int(os.environ.get("DDLREPL_HISTORIES", count)), PER_TEST)


def _check(server: Any, first: int) -> None:
    for seed in range(first, first + PER_TEST):
        outcome = generate(server, seed)
        print(report(seed, outcome))
        if outcome.failure:
            pytest.fail(script(seed, shrink(server, seed, outcome, SHRINK_SECONDS)), pytrace=False)


@pytest.mark.parametrize("first", _starts(80, FIRST))
def test_histories_on_18(pg18: Any, first: int) -> None:
    _check(pg18, first)


@pytest.mark.parametrize("first", _starts(20, FIRST + 1000))
def test_histories_on_15(pg15: Any, first: int) -> None:
    _check(pg15, first)
