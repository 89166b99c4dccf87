"""This module implements the port of types for DuckDB: columns have the source's types, and are held as DuckDB's."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.engines.duckdb.types.defaults import translated
from airflow_ddlrepl.engines.duckdb.types.families import representation
from airflow_ddlrepl.engines.duckdb.types.physical import physical
from airflow_ddlrepl.engines.duckdb_sql.text_sql import TEXT
from airflow_ddlrepl.engines.held_types.type_names import decimal_size
from airflow_ddlrepl.engines.held_types.type_system import HeldTypes, is_any_text, widens_text
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import DataType, TypeDefinition, TypeFamily
from airflow_ddlrepl.ports.types import Held
from airflow_ddlrepl.sql.translation import Untranslatable

_WHOLE = ("SMALLINT", "INTEGER", "BIGINT")
_DIGITS = {"SMALLINT": 5, "INTEGER": 10, "BIGINT": 19}
_SAME_TEXT = frozenset([*_WHOLE, "UUID"])


class DuckTypes(HeldTypes):
    """A value stays as it is by a cast of which that is sure; every other change of a type is a reload."""

    whole = _WHOLE
    any_text = TEXT

    def type_name(self, of: DataType, types: Sequence[TypeDefinition] = ()) -> str:
        return physical(of, types)

    def representation(self, of: TypeFamily) -> Held:
        return representation(of)

    def widens(self, old: DataType, new: DataType) -> bool:
        before, after = physical(old), physical(new)
        if before in _WHOLE and after in _WHOLE:
            return _WHOLE.index(before) <= _WHOLE.index(after)
        if (size := decimal_size(after)) is not None:
            digits, places = size
            if before in _WHOLE:
                return digits - places >= _DIGITS[before]
            smaller = decimal_size(before)
            return smaller is not None and places >= smaller[1] and digits - places >= smaller[0] - smaller[1]
        if is_any_text(new) and before in _SAME_TEXT:
            return True
        return old == new or widens_text(old, new)

    def why_no_default(self, column: Column, types: Sequence[TypeDefinition] = ()) -> str:
        try:
            translated(column, types)
        except Untranslatable as error:
            return f"is not certainly the same in DuckDB ({error})"
        return ""


DUCK_TYPES = DuckTypes()
