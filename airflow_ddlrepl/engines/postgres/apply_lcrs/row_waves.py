"""This module orders row changes of a table in waves: each key comes once in a wave, and waves keep the order of a key.

So the changes of a wave can be made together, whatever their order in the log was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Ints = np.ndarray[Any, np.dtype[np.int64]]


def waves(before: Sequence[pa.Array], after: Sequence[pa.Array]) -> Ints:
    """Return the wave of each change, from 0 on.

    before, after: the values of each column of the key by which a row is found, and that it has then.
    """
    old, new = numbers(before, after)
    if np.array_equal(old, new):
        return _occurrences(old)
    found = np.empty(len(old), np.int64)
    next_of: dict[int, int] = {}
    for place, (one, other) in enumerate(zip(old.tolist(), new.tolist(), strict=True)):
        wave = max(next_of.get(one, 0), next_of.get(other, 0))
        next_of[one] = next_of[other] = wave + 1
        found[place] = wave
    return found


def numbers(before: Sequence[pa.Array], after: Sequence[pa.Array]) -> tuple[Ints, Ints]:
    """Return a number for each key, before and after a change: equal ones for equal keys."""
    numbers: Ints | None = None
    for old, new in zip(before, after, strict=True):
        encoded = pc.dictionary_encode(pa.concat_arrays([old, new]), null_encoding="encode")
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        codes = codes.astype(np.int64)
        if numbers is None:
            numbers = codes
        else:
            numbers = np.unique(numbers * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
    assert numbers is not None
    half = len(numbers) // 2
    return numbers[:half], numbers[half:]


def _occurrences(keys: Ints) -> Ints:
    """Return for each key how often it has come before."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    is_first = np.ones(len(keys), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    places = np.arange(len(keys))
    found = np.empty(len(keys), np.int64)
    found[order] = places - np.maximum.accumulate(np.where(is_first, places, 0))
    return found
