"""This module cuts tables into chunks of pages that parallel tasks can load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

PAGE_BYTES = 8192
MINIMUM_PAGES = 4096  # 32 MB
LARGE_CHUNK_PAGES = 128


class Chunk(NamedTuple):
    """A chunk is the pages low <= page < high of one table.

    high None: to the table's end. number: its place among the table's chunks.
    """

    table_id: int
    number: int
    low: int
    high: int | None


def cut_chunks(pages: Mapping[int, int], parallelism: int) -> list[Chunk]:
    """Return chunks of about equal size over all tables (pages by table id), the largest first; each table has one."""
    share = max(MINIMUM_PAGES, -(-sum(pages.values()) // max(parallelism * 2, 1)))
    found: list[tuple[int, Chunk]] = []
    for table_id, count in pages.items():
        cuts = max(1, -(-count // share))
        edges = [count * i // cuts for i in range(cuts)]
        for number, low in enumerate(edges):
            high = edges[number + 1] if number + 1 < cuts else None
            found.append(((high or max(count, low)) - low, Chunk(table_id, number, low, high)))
    return [chunk for _, chunk in sorted(found, key=lambda item: -item[0])]


def group_chunks(sizes: Sequence[int], parallelism: int) -> list[list[int]]:
    """Return which chunks one task loads: each large one alone, the small ones evenly spread.

    sizes: pages per chunk. A chunk is named by its place among them.
    """
    large = [[place] for place, pages in enumerate(sizes) if pages > LARGE_CHUNK_PAGES]
    small = [place for place, pages in enumerate(sizes) if pages <= LARGE_CHUNK_PAGES]
    spread = [small[i :: max(1, parallelism)] for i in range(max(1, parallelism))]
    return [*large, *(group for group in spread if group)]


def pages_of(chunk: Chunk, pages: Mapping[int, int]) -> int:
    """Return how many pages a chunk has; `pages` has those of whole tables, by id."""
    high = chunk.high if chunk.high is not None else max(pages[chunk.table_id], chunk.low)
    return high - chunk.low
