"""The section `target_tables` of the channel file: what a target's table has beside the source's rows and columns."""

from __future__ import annotations

import json
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, field_validator, model_validator

from airflow_ddlrepl.config.sections.table_mapping import SYSTEM_COLUMNS, Patterns, Property, possible_name
from airflow_ddlrepl.notation.column_types import column_type
from airflow_ddlrepl.notation.condition.parser import expression, spelled
from airflow_ddlrepl.notation.section import YesNo

FIELDS = frozenset({"soft_delete", "deleted_at", "extra", "time_key", "coerce_error_policy", "key", "types"})
"""The settings of an entry, beside the tables and targets that it is for."""


class CoerceErrorPolicy(StrEnum):
    """This policy says what happens to a value that the target's column does not take."""

    FAIL = "fail"
    TRUNCATE = "truncate"
    NULL = "null"
    DISCARD = "discard"

    @property
    def replaces(self) -> bool:
        """Does another value or none arrive for each that does not fit, whatever its type?"""
        return self in (CoerceErrorPolicy.NULL, CoerceErrorPolicy.DISCARD)


def _spelled_null(value: Any) -> Any:
    """Return the text `null` for YAML's null, which is how the policy is written without quotes."""
    return "null" if value is None else value


_HISTORY = ("{operation}", "{position}", "{sequence}")


class TargetTable(Property):
    """An entry lets a target's table keep deleted rows, or have columns that the source's table does not have.

    The first that matches a table decides, also for tables that come later. docs/target_tables.md has more.
    """

    soft_delete: str | None = Field(
        None, description="name of a boolean column: deleted rows stay at the target, and it is true for them"
    )
    deleted_at: str | None = Field(
        None, description="name of a column for the moment at which a row of `soft_delete` was deleted"
    )
    key: Patterns = Field((), description="the source's columns that identify a row at the target")
    time_key: YesNo = Field(False, description="every change is a row of its own, and no row is changed or removed")
    coerce_error_policy: Annotated[CoerceErrorPolicy, BeforeValidator(_spelled_null)] = Field(
        CoerceErrorPolicy.FAIL, description="what happens to a value that the target's column can't hold"
    )
    extra: dict[str, str] = Field(
        {}, description='column: expression over the row ("price * amount") or the change ("{commit_time}")'
    )

    types: dict[str, str] = Field({}, description="column: data type that it has at the target, whatever the source's")

    @field_validator("types")
    @classmethod
    def _types_are_possible(cls, value: dict[str, str]) -> dict[str, str]:
        found = {}
        for name, text in value.items():
            try:
                found[possible_name(name)] = column_type(text).text
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        return found

    @field_validator("extra")
    @classmethod
    def _expressions_can_be_read(cls, value: dict[str, Any]) -> dict[str, str]:
        found = {}
        for name, text in value.items():
            try:
                found[name] = spelled(expression(text))
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        return found

    @model_validator(mode="after")
    def _columns_are_possible(self) -> TargetTable:
        if not self.shapes and "coerce_error_policy" not in self.model_fields_set:
            raise ValueError("says nothing: write soft_delete, time_key, extra, key, types or coerce_error_policy")
        if self.key and (self.time_key or self.soft_delete is not None):
            raise ValueError("says key and time_key or soft_delete: those find rows by the source's key")
        if len(set(self.key)) < len(self.key):
            raise ValueError("key: names a column twice")
        if self.time_key and self.soft_delete is not None:
            raise ValueError("says time_key and soft_delete: a deletion is a row of its own already")
        if self.time_key and (lacking := [one for one in _HISTORY if one not in self.extra.values()]):
            raise ValueError(f"time_key needs columns that tell changes apart: write extra, with {', '.join(lacking)}")
        if self.discards and (self.key or self.time_key or self.soft_delete is not None):
            raise ValueError("says coerce_error_policy: discard and key, time_key or soft_delete: choose null instead")
        if self.deleted_at is not None and self.soft_delete is None:
            raise ValueError("deleted_at is for soft_delete: write that, too")
        for name in self.columns:
            if possible_name(name) in SYSTEM_COLUMNS:
                raise ValueError(f"{name} is a system column's name")
        if twice := sorted({name for name in self.columns if self.columns.count(name) > 1}):
            raise ValueError(f"two columns are called {', '.join(twice)}")
        return self

    @property
    def shapes(self) -> bool:
        """Does the entry give the target's table another shape?"""
        return bool(self.columns or self.key or self.types)

    @property
    def needs_old_rows(self) -> bool:
        """Must the log have the whole old row of each change?"""
        return self.time_key or bool(self.key) or self.discards

    @property
    def discards(self) -> bool:
        """Are rows left out that have a value which the target's column can't hold?"""
        return self.coerce_error_policy is CoerceErrorPolicy.DISCARD

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of the columns that the target's table has and the source's has not."""
        return (*(name for name in (self.soft_delete, self.deleted_at) if name is not None), *self.extra)


def settings_of(entry: TargetTable | None) -> dict[str, Any]:
    """Return what an entry says of a table's columns; two tables with equal settings have the same ones."""
    found = entry.model_dump(include={"soft_delete", "deleted_at", "extra", "types"}) if entry is not None else {}
    return {name: value for name, value in found.items() if value}


@lru_cache(maxsize=4096)
def target_table_in(properties: str) -> TargetTable | None:
    """Return the entry of `target_tables` in a text made by `table_mapping.digest`; None: there is none."""
    found = (one for one in json.loads(properties or "[]") if one.keys() & FIELDS)
    one = next(found, None)
    return TargetTable.model_validate(one) if one else None


def coerce_error_policy(properties: str) -> CoerceErrorPolicy:
    """Return what happens to a value that does not fit. properties: a text made by `table_mapping.digest`."""
    entry = target_table_in(properties)
    return entry.coerce_error_policy if entry is not None else CoerceErrorPolicy.FAIL


def has_own_key(properties: str) -> bool:
    """Has the target's table another key than the source's? properties: a text made by `table_mapping.digest`."""
    entry = target_table_in(properties)
    return entry is not None and bool(entry.key)


def has_time_key(properties: str) -> bool:
    """Is each change a row of its own? properties: a text made by `table_mapping.digest`."""
    entry = target_table_in(properties)
    return entry is not None and entry.time_key


def own_types(properties: str) -> dict[str, str]:
    """Return the types of the target's own by the source's column. properties: a text by `table_mapping.digest`."""
    entry = target_table_in(properties)
    return entry.types if entry is not None else {}
