"""This module implements the port of types for a lake: columns have the source's types, and are held as Iceberg's."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.engines.held_types.type_names import decimal_size
from airflow_ddlrepl.engines.held_types.type_system import HeldTypes, is_any_text, widens_text
from airflow_ddlrepl.engines.lake.types.conversions import converted, is_lossless
from airflow_ddlrepl.engines.lake.types.defaults import translated
from airflow_ddlrepl.engines.lake.types.families import representation
from airflow_ddlrepl.engines.lake.types.physical import TEXT, physical, widens_to
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.model.types import DataType, TypeDefinition, TypeFamily
from airflow_ddlrepl.ports.types import Cast, Held
from airflow_ddlrepl.sql.translation import Untranslatable

_WHOLE = ("INT", "BIGINT")


class LakeTypes(HeldTypes):
    """A column gets another type where Iceberg or Spark is sure of its values; every other change is a reload."""

    whole = _WHOLE
    any_text = TEXT

    def type_name(self, of: DataType, types: Sequence[TypeDefinition] = ()) -> str:
        return physical(of, types)

    def representation(self, of: TypeFamily) -> Held:
        return representation(of)

    def widens(self, old: DataType, new: DataType) -> bool:
        before, after = physical(old), physical(new)
        if decimal_size(after) is not None:
            return is_lossless(old, new)
        if before in _WHOLE and after in _WHOLE:
            return old == new or (before == "INT" and (after == "BIGINT" or new.text == "integer"))
        if before != after and widens_to(before, after):
            return True
        if is_any_text(new) and old.is_builtin and old.text == "uuid":
            return True
        return old == new or widens_text(old, new) or is_lossless(old, new)

    def cast(self, old: DataType, new: DataType) -> Cast:
        return Cast.SAME_EVERYWHERE if converted("c", old, new) else super().cast(old, new)

    def alters(self, old: DataType, new: DataType) -> bool:
        before, after = physical(old), physical(new)
        return before == after or widens_to(before, after) or converted("c", old, new) is not None

    def why_no_default(self, column: Column, types: Sequence[TypeDefinition] = ()) -> str:
        try:
            translated(column, types)
        except Untranslatable as error:
            return f"is not certainly the same in a lake's table ({error})"
        return ""


LAKE_TYPES = LakeTypes()
