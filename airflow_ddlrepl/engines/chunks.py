"""This module decides how large the chunks of tables are that parallel tasks load, and which chunks one task loads."""

from __future__ import annotations

from collections.abc import Collection, Sequence

MINIMUM_BYTES = 32 << 20
LARGE_CHUNK_BYTES = 1 << 20


def chunk_bytes(sizes: Collection[int], parallelism: int) -> int:
    """Return how many bytes a chunk has at most, so that the tables make about two chunks for each parallel task.

    sizes: bytes of each table.
    """
    return max(MINIMUM_BYTES, -(-sum(sizes) // max(parallelism * 2, 1)))


def group_chunks(sizes: Sequence[int], parallelism: int) -> list[list[int]]:
    """Return which chunks one task loads: each large one alone, the small ones evenly spread.

    sizes: bytes per chunk. A chunk is named by its place among them.
    """
    large = [[place] for place, size in enumerate(sizes) if size > LARGE_CHUNK_BYTES]
    small = [place for place, size in enumerate(sizes) if size <= LARGE_CHUNK_BYTES]
    spread = [small[i :: max(1, parallelism)] for i in range(max(1, parallelism))]
    return [*large, *(group for group in spread if group)]
