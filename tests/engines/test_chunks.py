"""Chunks of a refresh are of about equal size; small ones are loaded together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from airflow_ddlrepl.engines.chunks import LARGE_CHUNK_BYTES, MINIMUM_BYTES, chunk_bytes, group_chunks


@given(st.lists(st.integers(0, 1 << 40), max_size=20), st.integers(1, 64))
def test_all_tasks_have_work_and_no_chunk_is_tiny(sizes: list[int], parallelism: int) -> None:
    most = chunk_bytes(sizes, parallelism)
    assert most >= MINIMUM_BYTES and most * parallelism * 2 >= sum(sizes)
    assert most == MINIMUM_BYTES or (most - 1) * parallelism * 2 < sum(sizes)


@given(st.lists(st.integers(0, 100 << 20), max_size=60), st.integers(1, 8))
def test_chunks_loaded_together_are_all_of_them_once(sizes: list[int], parallelism: int) -> None:
    groups = group_chunks(sizes, parallelism)
    assert sorted(place for group in groups for place in group) == list(range(len(sizes)))
    assert all(len(group) == 1 or max(sizes[place] for place in group) <= LARGE_CHUNK_BYTES for group in groups)
    assert sum(len(group) > 1 for group in groups) <= parallelism
