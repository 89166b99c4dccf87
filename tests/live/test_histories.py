"""Random histories, reproducible from their seeds: whatever happens at the source, the target equals it at the end.

DDLREPL_HISTORIES: how many seeds per version (default 12 on PostgreSQL 18, 4 on 15); DDLREPL_HISTORIES_FROM: the first.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.live.histories import generate, report, script, shrink

FIRST = int(os.environ.get("DDLREPL_HISTORIES_FROM", "1"))
SHRINK_SECONDS = 120


def _seeds(count: int, first: int) -> range:
    return range(first, first + int(os.environ.get("DDLREPL_HISTORIES", count)))


def _check(server: Any, seed: int) -> None:
    outcome = generate(server, seed)
    print(report(seed, outcome))
    if outcome.failure:
        pytest.fail(script(seed, shrink(server, seed, outcome, SHRINK_SECONDS)), pytrace=False)


@pytest.mark.parametrize("seed", _seeds(12, FIRST))
def test_history_on_18(pg18: Any, seed: int) -> None:
    _check(pg18, seed)


@pytest.mark.parametrize("seed", _seeds(4, FIRST + 1000))
def test_history_on_15(pg15: Any, seed: int) -> None:
    _check(pg15, seed)
