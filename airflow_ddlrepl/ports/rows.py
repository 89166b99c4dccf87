"""Rows of a table that any task can read, wherever they are: in a database, or archived in a trail."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa


class RowSource(Protocol):
    """A row source is a picklable value that gives rows of one table, or of a chunk of it, in any process.

    Its text never shows a location. It can be read again, for as long as the snapshot is open that its rows are of.
    """

    @property
    def size(self) -> int:
        """About how many bytes the rows take."""
        ...

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows as text, each value as its database writes it: one column of strings per wanted column.

        Conditions and functions of the channel file are applied already; a NULL is null. Raises SourceError SRC-170
        or TrailError where the rows can't be read, and what a function of `transform` raises.
        """
        ...

    def native(self, codec: str) -> Iterator[bytes] | None:
        """Yield the rows in a database's own format, for targets that take it; None where they do not come in it.

        codec: the name of the format. Raises what `batches` raises.
        """
        ...
