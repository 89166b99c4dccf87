"""This module reads numbers from the bytes of many messages at once: big-endian ones at arbitrary places."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints: TypeAlias = "npt.NDArray[np.int64]"
Mask: TypeAlias = "npt.NDArray[np.bool_]"
AnyArray: TypeAlias = "npt.NDArray[Any]"


class Messages:
    """This value is a batch of messages: one byte buffer, and where each message starts and ends in it.

    Reading past the buffer's end raises IndexError: the decoder reports it as a truncated message.
    """

    def __init__(self, array: pa.Array) -> None:
        wide = pa.types.is_large_binary(array.type)
        _, offsets, data = array.buffers()
        numbers = np.frombuffer(offsets, np.int64 if wide else np.int32)[array.offset : array.offset + len(array) + 1]
        self.offsets: Ints = numbers.astype(np.int64)
        self.data = data if data is not None else pa.py_buffer(b"")
        self.bytes: npt.NDArray[np.uint8] = np.frombuffer(self.data, np.uint8)
        self.starts = self.offsets[:-1]
        self.ends = self.offsets[1:]
        self._views: dict[str, AnyArray] = {}

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def size(self) -> int:
        """Return how many bytes all messages have."""
        return int(self.offsets[-1] - self.offsets[0])

    def message(self, index: int) -> bytes:
        """Return the bytes of one message."""
        return self.bytes[self.starts[index] : self.ends[index]].tobytes()

    def gather(self, kind: str, places: AnyArray) -> AnyArray:
        """Return the numbers at these places, of a numpy type such as ">i4"."""
        return self.view(kind)[places]

    def view(self, kind: str) -> AnyArray:
        """Return every place of the buffer read as a numpy type (overlapping, no copy)."""
        found = self._views.get(kind)
        if found is None:
            count = max(len(self.bytes) - np.dtype(kind).itemsize + 1, 0)
            found = self._views[kind] = np.ndarray((count,), kind, self.bytes, 0, (1,)) if count else np.empty(0, kind)
        return found
