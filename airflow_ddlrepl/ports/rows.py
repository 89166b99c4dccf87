"""This module defines row sources: rows of a table that any task can read, from a database or a trail's archive."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import TypeDefinition
from airflow_ddlrepl.ports.change_values import ChangeValues

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


@dataclass(frozen=True)
class TextRows(RowSource, ABC):
    """Text rows are read as texts; typed values are made of these.

    columns: those that are read, in their order. values: what converts the texts. types: that the columns' types use.
    """

    columns: Sequence[Column]
    values: ChangeValues
    types: Sequence[TypeDefinition] = ()

    @property
    def size(self) -> int:
        """Return 0: it is not known how many bytes the rows take."""
        return 0

    @abstractmethod
    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows as text, as `RowSource.batches` documents."""

    def typed(self, schema: pa.Schema) -> Iterator[TypedRows]:
        """Yield the rows as values of the types of a schema, made of their texts."""
        import pyarrow as pa

        for batch in self.batches():
            found = [
                self.values.converted(batch[field.name], "text", column, field, self.types)
                for column, field in zip(self.columns, schema, strict=True)
            ]
            unfit = {field.name: one.unfit for field, one in zip(schema, found, strict=True) if one.unfit is not None}
            yield TypedRows(pa.RecordBatch.from_arrays([one.values for one in found], schema=schema), unfit)
