"""This module implements the port of types for a lake: columns have the source's types, and are held as Iceberg's."""

from __future__ import annotations

import re
from collections.abc import Sequence

from airflow_ddlrepl.engines.lake.types.defaults import translated
from airflow_ddlrepl.engines.lake.types.families import representation
from airflow_ddlrepl.engines.lake.types.physical import TEXT, decimal_size, physical
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import DataType, TypeDefinition, TypeFamily, TypeKind
from airflow_ddlrepl.ports.types import Equality, Held, TypeSystem
from airflow_ddlrepl.sql.translation import Untranslatable

_WIDER = frozenset([("INT", "BIGINT"), ("FLOAT", "DOUBLE")])
_WHOLE = ("INT", "BIGINT")
_TEXTS = frozenset(["text", "varchar", "character varying", "name"])


class LakeTypes(TypeSystem):
    """A column gets another type where the table's files stay as they are; every other change of a type is a reload."""

    @property
    def text(self) -> DataType:
        return DataType("text", "pg_catalog", "text", id=25)

    def representation(self, of: TypeFamily) -> Held:
        return representation(of)

    def widens(self, old: DataType, new: DataType) -> bool:
        before, after = physical(old), physical(new)
        smaller, size = decimal_size(before), decimal_size(after)
        if smaller is not None and size is not None:
            return smaller[1] == size[1] and smaller[0] <= size[0]
        if before in _WHOLE and after in _WHOLE:
            return old == new or (before == "INT" and (after == "BIGINT" or new.text == "integer"))
        if (before, after) in _WIDER:
            return True
        if _is_text(new) and _length(new) is None:
            return _is_text(old) or (old.is_builtin and old.text == "uuid")
        if _is_text(old) and _is_text(new):
            here, there = _length(old), _length(new)
            return here is not None and there is not None and here <= there
        return old == new

    def holds_any_text(self, of: DataType) -> bool:
        return physical(of) == TEXT

    def is_exact_number(self, of: DataType) -> bool:
        held = physical(of)
        return held in _WHOLE or decimal_size(held) is not None

    def why_no_default(self, column: Column, types: Sequence[TypeDefinition] = ()) -> str:
        try:
            translated(column, types)
        except Untranslatable as error:
            return f"is not certainly the same in a lake's table ({error})"
        return ""

    def equality(self, column: Column, encoding: str, types: Sequence[TypeDefinition] = ()) -> Equality:
        held = physical(column.type, types)
        if held in ("FLOAT", "DOUBLE"):
            return Equality.FLOAT
        if decimal_size(held) is not None:
            return Equality.NUMERIC if encoding == "binary" else Equality.NUMERIC_TEXT
        return Equality.BYTES  # as a text 1.0 is another key than 1.00, and blanks at the end count


LAKE_TYPES = LakeTypes()


def _is_text(of: DataType) -> bool:
    return of.is_builtin and of.kind is TypeKind.BASE and of.name in _TEXTS


def _length(of: DataType) -> int | None:
    found = re.search(r"\((\d+)\)", of.text)
    return int(found[1]) if found else None
