"""The width of the ranges of a key: some rows in each where keys lie dense, and not too many ranges elsewhere."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_ddlrepl.engines.postgres.load.differing_ranges import MOST_RANGES, key_shift
from airflow_ddlrepl.model.key_ranges import joined

BIGINT = st.integers(-(1 << 63), (1 << 63) - 1)


@pytest.mark.parametrize(
    ("keys", "rows", "shift"),
    [
        (range(0, 1_000_001, 10_000), 1_000_000, 4),
        (range(-500_000, 500_001, 10_000), 1_000_000, 4),
        ([*range(0, 1_000_001, 10_000), 1 << 62], 1_000_000, 4),  # one key far away
        (range(0, 64_000_001, 640_000), 1_000_000, 10),
        ([0, 1_000_000], 1_000_000, 4),  # no statistics
        ([7], 1, 4),
        ([], 0, 4),
    ],
)
def test_ranges_have_some_rows_where_keys_lie_dense(keys: list[int], rows: int, shift: int) -> None:
    assert key_shift(list(keys), rows) == shift


@given(st.lists(BIGINT, min_size=2, max_size=200, unique=True).map(sorted), st.integers(0, 1 << 40))
def test_there_are_never_too_many_ranges(keys: list[int], rows: int) -> None:
    shift = key_shift(keys, rows)
    between = max(1, rows // (len(keys) - 1))
    assert 0 <= shift <= 62
    found = sum(min(between, 1 + ((high - low) >> shift)) for low, high in pairwise(keys))
    assert found <= max(MOST_RANGES, 5 * len(keys))


@given(st.sets(BIGINT, max_size=50), st.integers(0, 62))
def test_joined_ranges_have_each_key_once(keys: set[int], shift: int) -> None:
    bounds = joined(sorted({key >> shift for key in keys}), shift)
    for key in keys:
        assert sum(low <= key <= high for low, high in bounds) == 1
    assert all(high + 1 < low for (_, high), (low, _) in pairwise(bounds))
    assert all(-(1 << 63) <= low <= high < 1 << 63 for low, high in bounds)
