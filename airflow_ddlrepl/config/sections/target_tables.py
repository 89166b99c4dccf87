"""The section `target_tables` of the channel file: what a target's table has beside the source's rows and columns."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, field_validator, model_validator

from airflow_ddlrepl.config.sections.table_mapping import SYSTEM_COLUMNS, Patterns, Property, possible_name
from airflow_ddlrepl.model.settings.table_settings import CoerceErrorPolicy, OwnColumns
from airflow_ddlrepl.notation.column_types import column_type
from airflow_ddlrepl.notation.condition.parser import expression, spelled
from airflow_ddlrepl.notation.section import YesNo


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
        if not self.own.shapes and "coerce_error_policy" not in self.model_fields_set:
            raise ValueError("says nothing: write soft_delete, time_key, extra, key, types or coerce_error_policy")
        if self.key and (self.time_key or self.soft_delete is not None):
            raise ValueError("says key and time_key or soft_delete: those find rows by the source's key")
        if len(set(self.key)) < len(self.key):
            raise ValueError("key: names a column twice")
        if self.time_key and self.soft_delete is not None:
            raise ValueError("says time_key and soft_delete: a deletion is a row of its own already")
        if self.time_key and (lacking := [one for one in _HISTORY if one not in self.extra.values()]):
            raise ValueError(f"time_key needs columns that tell changes apart: write extra, with {', '.join(lacking)}")
        if self.own.discards and (self.key or self.time_key or self.soft_delete is not None):
            raise ValueError("says coerce_error_policy: discard and key, time_key or soft_delete: choose null instead")
        if self.deleted_at is not None and self.soft_delete is None:
            raise ValueError("deleted_at is for soft_delete: write that, too")
        names = self.own.names
        for name in names:
            if possible_name(name) in SYSTEM_COLUMNS:
                raise ValueError(f"{name} is a system column's name")
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two columns are called {', '.join(twice)}")
        return self

    @property
    def own(self) -> OwnColumns:
        """Return the entry as a value."""
        return OwnColumns(
            self.soft_delete,
            self.deleted_at,
            self.key,
            self.time_key,
            self.extra,
            self.types,
            self.coerce_error_policy,
        )
