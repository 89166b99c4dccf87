"""Chunks of a refresh cover every page of every table once, and are of about equal size."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from airflow_ddlrepl.refresh.chunks import LARGE_CHUNK_PAGES, MINIMUM_PAGES, Chunk, cut_chunks, group_chunks

SIZES = st.dictionaries(st.integers(1, 50), st.integers(0, 2_000_000), min_size=1, max_size=20)


def of_table(chunks: list[Chunk], table_id: int) -> list[Chunk]:
    return sorted((c for c in chunks if c.table_id == table_id), key=lambda c: c.number)


@given(SIZES, st.integers(1, 64))
def test_every_page_is_in_one_chunk(pages: dict[int, int], parallelism: int) -> None:
    chunks = cut_chunks(pages, parallelism)
    for table_id in pages:
        mine = of_table(chunks, table_id)
        assert [c.number for c in mine] == list(range(len(mine)))
        assert mine[0].low == 0 and mine[-1].high is None
        assert [c.high for c in mine[:-1]] == [c.low for c in mine[1:]]
        assert all(c.high is None or c.low < c.high for c in mine)


@given(SIZES, st.integers(1, 64))
def test_no_chunk_is_larger_than_its_share(pages: dict[int, int], parallelism: int) -> None:
    share = max(MINIMUM_PAGES, -(-sum(pages.values()) // (parallelism * 2)))
    sizes = [(pages[c.table_id] if c.high is None else c.high) - c.low for c in cut_chunks(pages, parallelism)]
    assert max(sizes) <= share + 1
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) <= len(pages) + parallelism * 2


@given(st.lists(st.integers(0, 100_000), max_size=60), st.integers(1, 8))
def test_chunks_loaded_together_are_all_of_them_once(sizes: list[int], parallelism: int) -> None:
    groups = group_chunks(sizes, parallelism)
    assert sorted(place for group in groups for place in group) == list(range(len(sizes)))
    assert all(len(group) == 1 or max(sizes[place] for place in group) <= LARGE_CHUNK_PAGES for group in groups)
    assert sum(len(group) > 1 for group in groups) <= parallelism
