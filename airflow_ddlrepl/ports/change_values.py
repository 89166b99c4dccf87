"""This module defines the port of a change feed's values: how an engine's types are shown as Arrow types."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple, Protocol

from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import TypeDefinition

if TYPE_CHECKING:
    import pyarrow as pa


_FIRST, _EPOCH, _LAST = datetime.min, datetime(1970, 1, 1), datetime.max
_ENDS = {b"ends": b"infinite"}


class NotShown(Exception):
    """This exception says why values of a column can't be shown; its text follows the column's name."""


class Converted(NamedTuple):
    """Converted values are those of the wanted type; a value that has no equal in it is null there."""

    values: pa.Array
    unfit: pa.Array | None = None  # the text of each value that does not fit, null for the others; None: all fit


def wanted(name: str, as_type: pa.DataType, *, with_ends: bool = False) -> pa.Field:
    """Return the field of a schema that says which type the values of a column are wanted in.

    with_ends: the reader takes the greatest integer of a date or moment, and that with a minus, for the infinities, and
    the integer of 24:00 for that time. Without it these do not fit.
    """
    import pyarrow as pa

    return pa.field(name, as_type, metadata=_ENDS if with_ends else None)


def has_ends(field: pa.Field) -> bool:
    """Return whether a field was wanted with the ends of the integers."""
    return (field.metadata or {}).items() >= _ENDS.items()


def python_values(values: pa.Array) -> pa.Array:
    """Return values that Python has, too: its dates and moments are of the years 1 to 9999. Raises NotShown."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not (pa.types.is_date(values.type) or pa.types.is_timestamp(values.type)):
        return values
    one = timedelta(microseconds=1) if pa.types.is_timestamp(values.type) else timedelta(days=1)
    unit = values.cast(pa.int64() if pa.types.is_timestamp(values.type) else pa.int32())
    ends = pc.min_max(unit).as_py()
    first, last = (_FIRST - _EPOCH) // one, (_LAST - _EPOCH) // one
    if ends["min"] is not None and (ends["min"] < first or ends["max"] > last):
        raise NotShown("has a moment before the year 1 or after the year 9999")
    return values


class ChangeValues(Protocol):
    """Change values is the port that converts values of the trail into plain Arrow values.

    types: the definitions of the user-defined types of the column's table.
    """

    def shown_type(self, column: Column, types: Sequence[TypeDefinition] = ()) -> pa.DataType:
        """Return the Arrow type that shows every value of the column; a string where there is none of its own."""
        ...

    def is_number(self, column: Column, types: Sequence[TypeDefinition] = ()) -> bool:
        """Return whether the column's values are numbers, even where only a string shows every one of them."""
        ...

    def has_exact_text(self, column: Column, types: Sequence[TypeDefinition] = ()) -> bool:
        """Return whether the text of the column's values does not depend on a server's settings."""
        ...

    def converted(
        self, values: pa.Array, encoding: str, column: Column, wanted: pa.Field, types: Sequence[TypeDefinition] = ()
    ) -> Converted:
        """Return the trail's values of the column as values of a wanted type, and which of them do not fit.

        encoding: of the values in the trail; `text` for those that `RowSource.batches` yields. Every value has a text.
        """
        ...

    def shown(
        self,
        values: pa.Array,
        encoding: str,
        column: Column,
        as_type: pa.DataType,
        types: Sequence[TypeDefinition] = (),
    ) -> pa.Array:
        """Return the trail's values of the column as values of `as_type`: its `shown_type`, a wider one, or a string.

        encoding: of the values in the trail. Raises NotShown where a value has no equal in that type.
        """
        found = self.converted(values, encoding, column, wanted(column.name, as_type), types)
        if found.unfit is not None:
            raise NotShown(f"has a value that {as_type} can't hold ({found.unfit.drop_null()[0]})")
        return found.values
