"""This module defines row sources: rows of a table that any task can read, from a database or a trail's archive."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa


class RowSource(Protocol):
    """A row source is a picklable value that reads the rows of one table, or of a chunk of it, in any process.

    Its text never shows a location. It can be read again, as long as the snapshot is open that its rows are of.
    """

    @property
    def size(self) -> int:
        """Return about how many bytes the rows take."""
        ...

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows as text, each value as its database writes it: one column of strings per wanted column.

        Conditions and functions of the channel file are applied already; a NULL is null. Raises SourceError SRC-170
        or TrailError where the rows can't be read, and what a function of `transform` raises.
        """
        ...

    def native(self, codec: str) -> Iterator[bytes] | None:
        """Yield the rows in a database's own format, for targets that take it; None where there is no such format.

        codec: the name of the format. Raises what `batches` raises.
        """
        ...
