"""This module implements the port of types for DuckDB: columns have the source's types, and are held as DuckDB's."""

from __future__ import annotations

import re
from collections.abc import Sequence

from airflow_ddlrepl.engines.duckdb.types.defaults import translated
from airflow_ddlrepl.engines.duckdb.types.families import representation
from airflow_ddlrepl.engines.duckdb.types.physical import TEXT, physical
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import DataType, TypeDefinition, TypeFamily, TypeKind
from airflow_ddlrepl.ports.types import Equality, Held, TypeSystem
from airflow_ddlrepl.sql.translation import Untranslatable

_WHOLE = ("SMALLINT", "INTEGER", "BIGINT")
_DIGITS = {"SMALLINT": 5, "INTEGER": 10, "BIGINT": 19}
_TEXTS = frozenset(["text", "varchar", "character varying", "name"])
_SAME_TEXT = frozenset([*_WHOLE, "UUID"])
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")


class DuckTypes(TypeSystem):
    """A value stays as it is by a cast of which that is sure; every other change of a type is a reload."""

    @property
    def text(self) -> DataType:
        return DataType("text", "pg_catalog", "text", id=25)

    def representation(self, of: TypeFamily) -> Held:
        return representation(of)

    def widens(self, old: DataType, new: DataType) -> bool:
        before, after = physical(old), physical(new)
        if before in _WHOLE and after in _WHOLE:
            return _WHOLE.index(before) <= _WHOLE.index(after)
        if (size := _size(after)) is not None:
            digits, places = size
            if before in _WHOLE:
                return digits - places >= _DIGITS[before]
            smaller = _size(before)
            return smaller is not None and places >= smaller[1] and digits - places >= smaller[0] - smaller[1]
        if _is_text(new) and _length(new) is None:
            return before in _SAME_TEXT or _is_text(old)
        if _is_text(old) and _is_text(new):
            here, there = _length(old), _length(new)
            return here is not None and there is not None and here <= there
        return old == new

    def holds_any_text(self, of: DataType) -> bool:
        return physical(of) == TEXT

    def is_exact_number(self, of: DataType) -> bool:
        return physical(of) in _WHOLE or _size(physical(of)) is not None

    def why_no_default(self, column: Column, types: Sequence[TypeDefinition] = ()) -> str:
        try:
            translated(column, types)
        except Untranslatable as error:
            return f"is not certainly the same in DuckDB ({error})"
        return ""

    def equality(self, column: Column, encoding: str, types: Sequence[TypeDefinition] = ()) -> Equality:
        text = physical(column.type, types)
        if text in ("FLOAT", "DOUBLE"):
            return Equality.FLOAT
        if text.startswith("DECIMAL"):
            return Equality.NUMERIC if encoding == "binary" else Equality.NUMERIC_TEXT
        return Equality.BYTES  # as a text 1.0 is another key than 1.00, and blanks at the end count


DUCK_TYPES = DuckTypes()


def _size(text: str) -> tuple[int, int] | None:
    found = _DECIMAL.fullmatch(text)
    return (int(found[1]), int(found[2])) if found else None


def _is_text(of: DataType) -> bool:
    return of.is_builtin and of.kind is TypeKind.BASE and of.name in _TEXTS


def _length(of: DataType) -> int | None:
    found = re.search(r"\((\d+)\)", of.text)
    return int(found[1]) if found else None
