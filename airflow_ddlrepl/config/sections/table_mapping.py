"""What columns and tables are called at a target, which rows it takes, and which values they get: `column_properties`,
`table_properties`, `restrict`, `transform`. HVR's actions ColumnProperties, TableProperties, Restrict, Transform.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field, WithJsonSchema, field_validator, model_validator

from airflow_ddlrepl.config.base.name_pattern import (
    MAX_NAME_BYTES,
    matches,
    matches_name,
    matches_no_name,
    split_name_pattern,
)
from airflow_ddlrepl.config.base.section import Section, YesNo
from airflow_ddlrepl.config.condition.parser import condition, spelled
from airflow_ddlrepl.config.hvr.action_text import (
    COLUMN_PARAMETERS,
    RESTRICT_PARAMETERS,
    TABLE_PARAMETERS,
    Parameters,
    read_action,
)
from airflow_ddlrepl.model.names import TableName

PROPERTIES = ("column_properties", "table_properties", "restrict", "transform")
"""Their keys in the channel file."""
_SYSTEM_COLUMNS = frozenset({"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"})
_ONE_OR_MORE = WithJsonSchema(
    {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}
)


def _as_list(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


Patterns = Annotated[tuple[str, ...], BeforeValidator(_as_list), _ONE_OR_MORE]


class _Property(Section):
    """Which tables, at which targets."""

    tables: Patterns = Field(("*",), min_length=1, description="patterns for the source's name, or for schema.name")
    targets: Patterns = Field((), description="names of targets and replays; default: all")

    @model_validator(mode="after")
    def _tables_are_possible(self) -> _Property:
        for pattern in self.tables:
            if any(map(matches_no_name, split_name_pattern(pattern))):
                raise ValueError(f"tables: {pattern!r} can be no table's name")
        return self

    def applies_to(self, target: str, table: TableName) -> bool:
        """For this table, named as at the source, at that target?"""
        return (not self.targets or target in self.targets) and any(matches_name(p, table) for p in self.tables)


def _possible_name(name: str) -> str:
    if not 0 < len(name.encode()) <= MAX_NAME_BYTES or "\0" in name:
        raise ValueError(f"name: {name!r} can be no name: it has 1 to {MAX_NAME_BYTES} bytes")
    return name


class ColumnProperty(_Property):
    """One ColumnProperties action: the first that matches a column decides, also for columns that come later.

    It may also stand there as one line of text: "Table=orders, Name=note, BaseName=remark" or "Name=secret, Absent".
    """

    columns: Patterns = Field(min_length=1, description="patterns for the column's name at the source")
    name: str | None = Field(None, description="what the column is called at the target")
    absent: YesNo = Field(False, description="the column is not at the target")

    @model_validator(mode="after")
    def _renames_or_drops(self) -> ColumnProperty:
        for pattern in self.columns:
            if matches_no_name(pattern):
                raise ValueError(f"columns: {pattern!r} can be no column's name")
        if (self.name is None) != self.absent:
            raise ValueError("says either `name` or `absent: true`")
        if self.name is not None and _possible_name(self.name) in _SYSTEM_COLUMNS:
            raise ValueError(f"name: {self.name} is a system column's")
        return self

    def is_for(self, column: str) -> bool:
        return any(matches(pattern, column) for pattern in self.columns)


class TableProperty(_Property):
    """One TableProperties action: the first that matches a table decides, also for tables that come later.

    It may also stand there as one line of text: "Table=orders, BaseName=sales".
    """

    name: str = Field(description="what the table is called at the target, in the schema that it has there anyway")

    @model_validator(mode="after")
    def _name_is_possible(self) -> TableProperty:
        _possible_name(self.name)
        return self


class Restriction(_Property):
    """One Restrict action: the target takes the rows that the condition is true for, by changes, refreshes, compares.

    The first that matches a table decides, also for tables that come later. docs/restrict.md has more.

    It may also stand there as one line of text: "Table=orders, Condition=amount > 100".
    """

    condition: str = Field(min_length=1, description="over the source's columns, in SQL, without functions")

    @field_validator("condition")
    @classmethod
    def _condition_can_be_read(cls, value: str) -> str:
        return spelled(condition(value))


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


class Transformation(_Property):
    """One Transform action: a Python function gives the values that columns have at the target.

    The first that matches a table decides, also for tables that come later. docs/transform.md has more.
    """

    columns: Patterns = Field(min_length=1, description="patterns for the columns that the function gives values to")
    function: str = Field(description="module:function, importable wherever the channel's tasks run")
    reads: Patterns = Field(
        ("*",), min_length=1, description="patterns for the columns that it looks at, besides those that it gives"
    )
    version: Annotated[str, BeforeValidator(_as_text)] = Field(
        "", description="another one, when the function gives other values than before: the tables are loaded anew"
    )

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
        module, colon, name = value.partition(":")
        if not (colon and name.isidentifier() and all(part.isidentifier() for part in module.split("."))):
            raise ValueError(f"{value!r} is no module:function, as in shop_rules:masked")
        return value


def _from_text(parameters: Parameters, takes: Any) -> BeforeValidator:
    """One line of text becomes the section it says. parameters: HVR's names and our keys. takes: for the schema."""

    def read(value: Any) -> Any:
        return _listed(read_action(value, parameters)) if isinstance(value, str) else value

    return BeforeValidator(read, json_schema_input_type=takes)


def _listed(found: dict[str, Any]) -> dict[str, Any]:
    """Names of several targets are one value: "Targets=a|b"."""
    return {key: tuple(value.split("|")) if key == "targets" else value for key, value in found.items()}


Column = Annotated[ColumnProperty, _from_text(COLUMN_PARAMETERS, ColumnProperty | str)]
Table = Annotated[TableProperty, _from_text(TABLE_PARAMETERS, TableProperty | str)]
Restrict = Annotated[Restriction, _from_text(RESTRICT_PARAMETERS, Restriction | str)]


One = TypeVar("One", bound=_Property)


def digest(properties: tuple[_Property, ...]) -> str:
    """Changes when they say something else; empty when there are none. Where they hold is left out."""
    found = [p.model_dump(mode="json", exclude={"tables", "targets"}, exclude_defaults=True) for p in properties]
    return json.dumps(found, sort_keys=True, ensure_ascii=False) if found else ""


@lru_cache(maxsize=4096)
def condition_in(properties: str) -> str:
    """Of what `digest` tells of a table: the condition for its rows; empty: it has all of them."""
    found = (one["condition"] for one in json.loads(properties or "[]") if "condition" in one)
    return next(found, "")


@lru_cache(maxsize=4096)
def values_in(properties: str) -> str:
    """The same of its transformation, as JSON; empty: the target has the source's values."""
    found = (json.dumps(one, sort_keys=True) for one in json.loads(properties or "[]") if "function" in one)
    return next(found, "")


@lru_cache(maxsize=4096)
def names_in(properties: str) -> str:
    """The same without the condition and the transformation."""
    found = [one for one in json.loads(properties or "[]") if not one.keys() & {"condition", "function"}]
    return json.dumps(found, sort_keys=True, ensure_ascii=False) if found else ""


def for_replay(properties: tuple[One, ...], target: str, replay: str) -> tuple[One, ...]:
    """The same, but that those of the target, and no others, hold for the replay."""
    found = []
    for one in properties:
        others = tuple(name for name in one.targets if name != replay)
        if one.targets and target in others:
            found.append(one.model_copy(update={"targets": (*others, replay)}))
        elif others or not one.targets:
            found.append(one.model_copy(update={"targets": others}))
    return tuple(found)
