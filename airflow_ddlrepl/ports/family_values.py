"""This module converts values of a source by the families of its types, where its log has their plain texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import Family, TypeDefinition, TypeFamily
from airflow_ddlrepl.ports.change_values import ChangeValues, Converted
from airflow_ddlrepl.ports.types import TypeSystem

if TYPE_CHECKING:
    import pyarrow as pa

_NUMBERS = (Family.INT, Family.DECIMAL, Family.FLOAT)
_MOST_DIGITS = 38


@dataclass(frozen=True, slots=True)
class FamilyValues(ChangeValues):
    """Values are texts as ISO 8601 and Arrow write them, bytes in hexadecimal digits, or Arrow values of their own."""

    types: TypeSystem

    def shown_type(self, column: Column, types: Sequence[TypeDefinition] = ()) -> pa.DataType:
        """Return the Arrow type of the column's family; a string where there is none."""
        import pyarrow as pa

        family = self.types.family(column.type, types)
        plain: dict[Family, Callable[[], pa.DataType]] = {
            Family.BOOLEAN: pa.bool_,
            Family.INT: {8: pa.int8, 16: pa.int16, 32: pa.int32, 64: pa.int64}[family.bits or 64],
            Family.FLOAT: pa.float32 if family.bits == 32 else pa.float64,
            Family.BYTES: pa.binary,
            Family.DATE: pa.date32,
            Family.TIME: lambda: pa.time64("us"),
            Family.TIMESTAMP: lambda: pa.timestamp("us"),
            Family.TIMESTAMP_TZ: lambda: pa.timestamp("us", "UTC"),
        }
        if _is_small_decimal(family):
            return pa.decimal128(family.precision, family.scale)
        return plain.get(family.kind, pa.string)()

    def is_number(self, column: Column, types: Sequence[TypeDefinition] = ()) -> bool:
        """Return whether the column's family is one of numbers."""
        return self.types.family(column.type, types).kind in _NUMBERS

    def has_exact_text(self, column: Column, types: Sequence[TypeDefinition] = ()) -> bool:
        """Return True: such texts depend on no settings."""
        return True

    def converted(
        self, values: pa.Array, encoding: str, column: Column, wanted: pa.Field, types: Sequence[TypeDefinition] = ()
    ) -> Converted:
        """Return the trail's values as values of a wanted type, and the texts of those that do not fit."""
        import pyarrow as pa

        try:
            return Converted(_cast(values, wanted.type))
        except (pa.ArrowInvalid, ValueError):
            pass
        found: list[object] = []
        unfit: list[str | None] = []
        for one in values:
            try:
                found.append(_cast(pa.array([one.as_py()], values.type), wanted.type)[0].as_py())
                unfit.append(None)
            except (pa.ArrowInvalid, ValueError):
                found.append(None)
                unfit.append(str(one.as_py()))
        return Converted(pa.array(found, wanted.type), pa.array(unfit, pa.string()))


def _is_small_decimal(family: TypeFamily) -> bool:
    is_known = family.precision is not None and family.scale is not None
    return family.kind is Family.DECIMAL and is_known and (family.precision or 0) <= _MOST_DIGITS


def _cast(values: pa.Array, to: pa.DataType) -> pa.Array:
    """Return the values in another type. Raises ArrowInvalid or ValueError where one has no equal there."""
    import pyarrow as pa

    if pa.types.is_string(values.type) and pa.types.is_binary(to):
        return pa.array([None if text is None else bytes.fromhex(text) for text in values.to_pylist()], to)
    if pa.types.is_binary(values.type) and pa.types.is_string(to):
        return pa.array([None if one is None else one.hex() for one in values.to_pylist()], to)
    return values.cast(to)
