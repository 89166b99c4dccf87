"""This module defines what targets call tables and columns, which rows they take, and which values these get.

The sections `column_properties`, `table_properties`, `restrict` and `transform`: HVR's actions ColumnProperties,
TableProperties, Restrict and Transform. And `conflicts`: which row counts where the target has another one.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field, WithJsonSchema, field_validator, model_validator

from airflow_ddlrepl.config.sections.places import named_in_file
from airflow_ddlrepl.hvr.action_text import (
    COLUMN_PARAMETERS,
    RESTRICT_PARAMETERS,
    TABLE_PARAMETERS,
    Parameters,
    read_action,
)
from airflow_ddlrepl.model.names import MAX_NAME_BYTES, TableName
from airflow_ddlrepl.model.settings.conflicts import Conflict
from airflow_ddlrepl.model.settings.table_settings import SECONDS, ColumnName, Rows, Values
from airflow_ddlrepl.notation.condition.parser import condition, spelled
from airflow_ddlrepl.notation.conflict_answers import ConflictSection
from airflow_ddlrepl.notation.importable import importable
from airflow_ddlrepl.notation.name_pattern import (
    matches_name,
    matches_no_name,
    split_name_pattern,
)
from airflow_ddlrepl.notation.row_kind import AnyRowKind
from airflow_ddlrepl.notation.section import NUMBER_AS_TEXT, Seconds, Section, YesNo

PROPERTIES = ("column_properties", "table_properties", "restrict", "transform", "target_tables", "conflicts")
"""Their keys in the channel file."""
SYSTEM_COLUMNS = frozenset({"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"})
_ONE_OR_MORE = WithJsonSchema(
    {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}
)


def _as_list(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


Patterns = Annotated[tuple[str, ...], BeforeValidator(_as_list), _ONE_OR_MORE]


class Property(Section):
    """A property is a setting for some tables at some targets."""

    tables: Patterns = Field(
        ("*",), min_length=1, description="patterns for the table's name at the source, or for schema.name"
    )
    targets: Patterns = Field((), description="names of targets and replays; default: all")

    @model_validator(mode="after")
    def _tables_are_possible(self) -> Property:
        for pattern in self.tables:
            if any(map(matches_no_name, split_name_pattern(pattern))):
                raise ValueError(f"tables: {pattern!r} can be no table's name")
        return self

    def applies_to(self, target: str, table: TableName) -> bool:
        """Return whether the setting is for this table, by its name at the source, at this target."""
        is_there = not self.targets or named_in_file(target) in self.targets
        return is_there and any(matches_name(pattern, table) for pattern in self.tables)


def possible_name(name: str) -> str:
    """Return the name; raise ValueError where no table or column can have it."""
    if not 0 < len(name.encode()) <= MAX_NAME_BYTES or "\0" in name:
        raise ValueError(f"name: {name!r} can be no name: it has 1 to {MAX_NAME_BYTES} bytes")
    return name


class ColumnProperty(Property):
    """A ColumnProperties action renames a column at a target, or leaves it out there.

    The first that matches a column decides, also for columns that come later.

    It may also be written as one line of text: "Table=orders, Name=note, BaseName=remark" or "Name=secret, Absent".
    """

    columns: Patterns = Field(min_length=1, description="patterns for the column's name at the source")
    name: str | None = Field(None, description="the name of the column at the target")
    absent: YesNo = Field(False, description="the target does not have the column")

    @model_validator(mode="after")
    def _renames_or_drops(self) -> ColumnProperty:
        for pattern in self.columns:
            if matches_no_name(pattern):
                raise ValueError(f"columns: {pattern!r} can be no column's name")
        if (self.name is None) != self.absent:
            raise ValueError("says either `name` or `absent: true`")
        if self.name is not None and possible_name(self.name) in SYSTEM_COLUMNS:
            raise ValueError(f"name: {self.name} is a system column's")
        return self

    @property
    def called(self) -> ColumnName:
        """Return the entry as a value."""
        return ColumnName(self.columns, self.name)


class TableProperty(Property):
    """A TableProperties action renames a table at a target.

    The first that matches a table decides, also for tables that come later.

    It may also be written as one line of text: "Table=orders, BaseName=sales".
    """

    name: str = Field(description="the name of the table at the target; its schema does not change")

    @model_validator(mode="after")
    def _name_is_possible(self) -> TableProperty:
        possible_name(self.name)
        return self


ADAPTDDL = "adaptddl"
"""The context of the refreshes that a schema change leads to."""


class Restriction(Property):
    """A Restrict action selects the rows that changes, refreshes and compares of a target take, by a condition.

    The first that matches a table decides, also for tables that come later; of those with `refresh`, the first of the
    context. docs/restrict.md has more.

    It may also be written as one line of text: "Table=orders, Condition=amount > 100".
    """

    condition: str = Field(
        "", min_length=1, description="SQL over the source's columns, without functions: of all that is taken"
    )
    refresh: str = Field(
        "", min_length=1, description="which rows a refresh of a table that has rows already deletes, and loads"
    )
    integrate: str = Field("", min_length=1, description="of which rows the targets take the changes")
    capture: str = Field("", min_length=1, description="of which rows any target takes the changes")
    ignore: tuple[AnyRowKind, ...] = Field(
        (), description="changes that the targets do not take: INSERT, UPDATE, DELETE, TRUNCATE"
    )
    context: str = Field("", description="`refresh` is for refreshes in this context only; `adaptddl`: schema changes'")

    @field_validator("condition", "refresh", "integrate", "capture")
    @classmethod
    def _condition_can_be_read(cls, value: str) -> str:
        return spelled(condition(value)) if value else ""

    @model_validator(mode="after")
    def _conditions_fit_together(self) -> Restriction:
        apart = [name for name in ("refresh", "integrate", "capture") if getattr(self, name)]
        if not self.condition and not apart and not self.ignore:
            raise ValueError("says none of `condition`, `refresh`, `integrate`, `capture` and `ignore`")
        if self.condition and apart:
            raise ValueError(f"`condition` is for all that is taken: write it, or `{apart[0]}`")
        if self.context and (apart != ["refresh"] or self.ignore):
            raise ValueError("`context` is for `refresh` alone: write the other settings in another entry")
        if self.context and not re.fullmatch(r"[a-z][a-z0-9_]{0,62}", self.context):
            raise ValueError(f"context: {self.context!r} is not of lower-case letters, digits and _")
        if self.capture and self.targets:
            raise ValueError("`capture` is for all targets: leave out `targets`, or write `integrate`")
        return self

    @property
    def rows(self) -> Rows:
        """Return what the entry says of changes as a value."""
        return Rows(self.condition, self.capture, self.integrate, ignore=self.ignore)

    @property
    def is_of_changes(self) -> bool:
        """Return whether the entry says which changes a target takes."""
        return self.rows != Rows()

    @property
    def ignores_alone(self) -> bool:
        """Return whether the entry says nothing but which changes are ignored."""
        return not self.rows.of_changes and not self.refresh


class Transformation(Property):
    """A Transform action lets a Python function compute the values that columns have at the target.

    The first that matches a table decides, also for tables that come later. docs/transform.md has more.
    """

    columns: Patterns = Field(min_length=1, description="patterns for the columns that the function gives values to")
    function: str = Field(description="module:function, importable wherever the channel's tasks run")
    reads: Patterns = Field(
        ("*",), min_length=1, description="patterns for the columns that it reads, besides those that it gives"
    )
    version: Annotated[str, NUMBER_AS_TEXT] = Field(
        "", description="change it when the function gives other values than before: the tables are loaded again"
    )
    seconds: Seconds = Field(SECONDS, ge=1, le=86400, description="how long the function may take for 10,000 rows")

    @field_validator("columns", "reads")
    @classmethod
    def _columns_are_possible(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in value:
            if matches_no_name(pattern):
                raise ValueError(f"{pattern!r} can be no column's name")
        return value

    @field_validator("function")
    @classmethod
    def _function_is_named(cls, value: str) -> str:
        return importable(value, "shop_rules:masked")

    @property
    def values(self) -> Values:
        """Return the entry as a value."""
        return Values(self.function, self.columns, self.reads, self.version, self.seconds)


class ConflictRule(Property, ConflictSection):
    """An entry says what happens where a target's row is not the one that a change of the source was made to.

    The first that matches a table decides, also for tables that come later. A conflict without an answer is an error.
    docs/both_directions.md has more.
    """

    @model_validator(mode="after")
    def _says_something(self) -> ConflictRule:
        if not self.answers.answers and self.compare is None:
            raise ValueError(f"says nothing: write `compare`, or one of {', '.join(Conflict)}")
        return self


def _from_text(parameters: Parameters, takes: Any) -> BeforeValidator:
    """Return a validator that parses one line of text into the section.

    parameters: HVR's names and our keys. takes: the type for the JSON Schema.
    """

    def read(value: Any) -> Any:
        return _listed(read_action(value, parameters)) if isinstance(value, str) else value

    return BeforeValidator(read, json_schema_input_type=takes)


def _listed(found: dict[str, Any]) -> dict[str, Any]:
    """Return the keys with the targets as a tuple: one value names several, as in "Targets=a|b"."""
    return {key: tuple(value.split("|")) if key == "targets" else value for key, value in found.items()}


Column = Annotated[ColumnProperty, _from_text(COLUMN_PARAMETERS, ColumnProperty | str)]
Table = Annotated[TableProperty, _from_text(TABLE_PARAMETERS, TableProperty | str)]
Restrict = Annotated[Restriction, _from_text(RESTRICT_PARAMETERS, Restriction | str)]


One = TypeVar("One", bound=Property)


def for_replay(properties: tuple[One, ...], target: str, replay: str) -> tuple[One, ...]:
    """Return the settings so that a replay gets those of the target, and no others."""
    found = []
    for one in properties:
        others = tuple(name for name in one.targets if name != replay)
        if one.targets and target in others:
            found.append(one.model_copy(update={"targets": (*others, replay)}))
        elif others or not one.targets:
            found.append(one.model_copy(update={"targets": others}))
    return tuple(found)
