"""This module says as which type of DuckDB the values of a family are held, and what of them is lost.

`physical` says the same of a source's type by its text; `docs/types.md` is written from here.
"""

from __future__ import annotations

from airflow_ddlrepl.engines.duckdb_sql.text_sql import TEXT
from airflow_ddlrepl.engines.held_types.type_names import MOST_DIGITS
from airflow_ddlrepl.model.types import DataType, Family, TypeFamily
from airflow_ddlrepl.ports.types import Held

_LATE = "a moment after the year 294246 does not fit"
_HELD = {
    Family.BOOLEAN: ("BOOLEAN", ""),
    Family.BYTES: ("BLOB", ""),
    Family.UUID: ("UUID", ""),
    Family.DATE: ("DATE", ""),
    Family.TIME: ("TIME", ""),
    Family.TIMESTAMP: ("TIMESTAMP", _LATE),
    Family.TIMESTAMP_TZ: ("TIMESTAMP WITH TIME ZONE", _LATE),
    Family.JSON: ("JSON", ""),
    Family.ENUM: (TEXT, "it is a text: any label is taken"),
}
_INTS = {8: "TINYINT", 16: "SMALLINT", 32: "INTEGER", 64: "BIGINT"}


def representation(of: TypeFamily) -> Held:
    """Return the type of DuckDB that has the values of a family, and what of them is lost."""
    text, loss = _type_and_loss(of)
    return Held(DataType(text, "", text), loss)


def _type_and_loss(of: TypeFamily) -> tuple[str, str]:
    if of.kind is Family.INT:
        return _INTS[of.bits or 64], ""
    if of.kind is Family.FLOAT:
        return ("FLOAT" if of.bits == 32 else "DOUBLE"), ""
    if of.kind is Family.DECIMAL:
        precision, scale = of.precision, of.scale or 0
        if precision is None or precision > MOST_DIGITS or not 0 <= scale <= precision:
            return TEXT, "it is a text, with all its digits"
        return f"DECIMAL({precision},{scale})", "NaN does not fit"
    if of.kind is Family.TEXT:
        loss = "blanks at the end count" if of.is_padded else "a longer text is taken, too" if of.length else ""
        return TEXT, loss
    return _HELD.get(of.kind, (TEXT, "it is a text"))
