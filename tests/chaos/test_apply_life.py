"""Lives of apply processes: they die at random moments, and readers beside see only what the source had.

DDLREPL_CHAOS_FROM chooses the seed; `python -m tests.chaos.apply_life` plays them by the hundred.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.chaos.apply_life import lived

SEED = int(os.environ.get("DDLREPL_CHAOS_FROM", "1"))
pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize("seed", range(SEED, SEED + 3))
def test_random_transactions_are_each_applied_once(pg18: Any, seed: int) -> None:
    found = lived(pg18, seed, kills=0)
    assert found.amid > 1


@pytest.mark.parametrize("seed", range(SEED, SEED + 3))
def test_random_transactions_are_each_applied_once_whenever_runs_are_killed(pg18: Any, seed: int) -> None:
    assert lived(pg18, seed, kills=3).kills == 3
