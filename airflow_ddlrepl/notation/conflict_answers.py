"""This module reads what a channel file says of conflicts: which columns are compared, and how each is resolved."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from airflow_ddlrepl.model.settings.conflicts import (
    AllExcept,
    Compared,
    Conflict,
    ConflictAnswer,
    ConflictAnswers,
    Resolution,
)
from airflow_ddlrepl.notation.section import Section

BY_VALUE = (Resolution.USE_MAX, Resolution.USE_MAX_EQ, Resolution.USE_MIN, Resolution.USE_MIN_EQ)
"""The resolutions that compare values of columns."""
_PLAIN = (Resolution.OVERWRITE, Resolution.IGNORE, Resolution.DISCARD)
ALLOWED: Mapping[Conflict, tuple[Resolution, ...]] = {
    Conflict.INSERT_ROW_EXISTS: (*_PLAIN, *BY_VALUE),
    Conflict.UPDATE_ROW_EXISTS: (*_PLAIN, *BY_VALUE),
    Conflict.UPDATE_ROW_MISSING: _PLAIN,
    Conflict.DELETE_ROW_EXISTS: _PLAIN,
    Conflict.DELETE_ROW_MISSING: (Resolution.IGNORE, Resolution.DISCARD),
}
"""Which resolutions each conflict may have."""


_WRITTEN = PlainSerializer(lambda answer: None if answer is None else answer.as_written)


def _read(conflict: Conflict) -> BeforeValidator:
    allowed = ALLOWED[conflict]

    def read(value: Any) -> Any:
        if value is None or isinstance(value, ConflictAnswer):
            return value
        name: Any = value
        columns: tuple[Any, ...] = ()
        if isinstance(value, Mapping):
            if len(value) != 1:
                raise ValueError(f"has to name one resolution: {_choices(allowed)}")
            (name, named), *_ = value.items()
            columns = (named,) if isinstance(named, str) else tuple(named or ())
        name = name.lower() if isinstance(name, str) else name
        if name not in allowed:
            raise ValueError(f"{name} is no resolution of {conflict}: write {_choices(allowed)}")
        if (name in BY_VALUE) != bool(columns):
            raise ValueError(f"{name} needs a column: write {{{name}: column}}" if not columns else f"{name} has none")
        if not all(isinstance(column, str) and column for column in columns) or len(set(columns)) < len(columns):
            raise ValueError(f"{name} needs the names of columns, each once")
        return ConflictAnswer(Resolution(name), columns)

    return BeforeValidator(read)


def _choices(allowed: Collection[Resolution]) -> str:
    return ", ".join(f"{{{one}: column}}" if one in BY_VALUE else one.value for one in allowed)


def _schema(conflict: Conflict) -> WithJsonSchema:
    plain = [one.value for one in ALLOWED[conflict] if one not in BY_VALUE]
    column: dict[str, Any] = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
    by_value = [
        {"type": "object", "properties": {one.value: column}, "required": [one.value], "additionalProperties": False}
        for one in ALLOWED[conflict]
        if one in BY_VALUE
    ]
    return WithJsonSchema({"anyOf": [{"type": "string", "enum": plain}, *by_value]})


class AllExceptThese(Section):
    """All columns are compared but these."""

    all_except: tuple[str, ...] = Field(min_length=1)


def _compared(value: Any) -> Any:
    if isinstance(value, str):
        if value.lower() not in ("all", "key"):
            raise ValueError(f"{value!r} is neither all nor key: write a list of columns, [{value}]")
        return value.lower()
    return value


_NAMES = {"type": "array", "items": {"type": "string"}, "minItems": 1}
ComparedColumns = Annotated[
    Literal["all", "key"] | tuple[str, ...] | AllExceptThese | None,
    BeforeValidator(_compared),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "enum": ["all", "key"]},
                _NAMES,
                {
                    "type": "object",
                    "properties": {"all_except": _NAMES},
                    "required": ["all_except"],
                    "additionalProperties": False,
                },
            ]
        }
    ),
]
InsertRowExists = Annotated[
    ConflictAnswer | None, _read(Conflict.INSERT_ROW_EXISTS), _WRITTEN, _schema(Conflict.INSERT_ROW_EXISTS)
]
UpdateRowExists = Annotated[
    ConflictAnswer | None, _read(Conflict.UPDATE_ROW_EXISTS), _WRITTEN, _schema(Conflict.UPDATE_ROW_EXISTS)
]
UpdateRowMissing = Annotated[
    ConflictAnswer | None, _read(Conflict.UPDATE_ROW_MISSING), _WRITTEN, _schema(Conflict.UPDATE_ROW_MISSING)
]
DeleteRowExists = Annotated[
    ConflictAnswer | None, _read(Conflict.DELETE_ROW_EXISTS), _WRITTEN, _schema(Conflict.DELETE_ROW_EXISTS)
]
DeleteRowMissing = Annotated[
    ConflictAnswer | None, _read(Conflict.DELETE_ROW_MISSING), _WRITTEN, _schema(Conflict.DELETE_ROW_MISSING)
]


class ConflictSection(Section):
    """These are the answers to the conflicts of a table, and the columns by which a change finds one."""

    compare: ComparedColumns = Field(
        None,
        description="columns whose old values have to be the target's: all, key, a list or {all_except: list};"
        " default: all",
    )
    compare_deletes: ComparedColumns = Field(None, description="the same for deletes; default: as `compare`")
    insert_row_exists: InsertRowExists = Field(None, description="an insert finds another row under its key")
    update_row_exists: UpdateRowExists = Field(None, description="an update finds another row than it was made to")
    update_row_missing: UpdateRowMissing = Field(None, description="an update finds no row")
    delete_row_exists: DeleteRowExists = Field(None, description="a delete finds another row than it was made to")
    delete_row_missing: DeleteRowMissing = Field(None, description="a delete finds no row")

    @property
    def answers(self) -> ConflictAnswers:
        """Return what the section says, as a value."""
        found = {one: answer for one in Conflict if (answer := getattr(self, one.value)) is not None}
        return ConflictAnswers(_value(self.compare), _value(self.compare_deletes), found)


def _value(compared: ComparedColumns) -> Compared:
    return AllExcept(compared.all_except) if isinstance(compared, AllExceptThese) else compared
