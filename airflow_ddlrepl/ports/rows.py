"""This module defines row sources: rows of a table that any task can read, from a database or a trail's archive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import pyarrow as pa


class TypedRows(NamedTuple):
    """Typed rows are a batch of rows of a schema; a value that has no equal in the type of its column is null there."""

    rows: pa.RecordBatch
    unfit: Mapping[str, pa.Array]  # by column, as `Converted.unfit`; without the columns in which every value fits


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

    def typed(self, schema: pa.Schema) -> Iterator[TypedRows]:
        """Yield the rows as values of the types of a schema, which has the wanted columns in their order.

        schema: of fields that `ports.change_values.wanted` made. Otherwise as `batches`.
        """
        ...

    def native(self, codec: str) -> Iterator[bytes] | None:
        """Yield the rows in a database's own format, for targets that take it; None where there is no such format.

        codec: the name of the format. Raises what `batches` raises.
        """
        return None
