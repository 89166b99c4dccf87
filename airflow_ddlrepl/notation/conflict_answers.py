"""This module defines conflicts: a target's row is not the one that a change was made to. And how each is resolved.

The names are those of GoldenGate's RESOLVECONFLICT and COMPARECOLS.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_serializer

from airflow_ddlrepl.notation.section import Section


class Conflict(StrEnum):
    """A conflict is the way in which a target's row is not what a change expects."""

    INSERT_ROW_EXISTS = "insert_row_exists"
    UPDATE_ROW_EXISTS = "update_row_exists"
    UPDATE_ROW_MISSING = "update_row_missing"
    DELETE_ROW_EXISTS = "delete_row_exists"
    DELETE_ROW_MISSING = "delete_row_missing"


class Resolution(StrEnum):
    """A resolution says whether the change or the target's row wins a conflict."""

    OVERWRITE = "overwrite"
    IGNORE = "ignore"
    DISCARD = "discard"
    USE_MAX = "use_max"
    USE_MAX_EQ = "use_max_eq"
    USE_MIN = "use_min"
    USE_MIN_EQ = "use_min_eq"


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


class ConflictAnswer(Section):
    """An answer to one kind of conflict: a resolution, with the columns whose values decide.

    It is written as `overwrite`, or as `{use_max: changed}`; of several columns a later one decides between equal
    values of the earlier ones.
    """

    resolution: Resolution
    columns: tuple[str, ...] = ()

    @model_serializer
    def _as_written(self) -> Any:
        if not self.columns:
            return self.resolution.value
        return {self.resolution.value: self.columns[0] if len(self.columns) == 1 else list(self.columns)}

    def __str__(self) -> str:
        return f"{self.resolution} ({', '.join(self.columns)})" if self.columns else self.resolution.value


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
        return ConflictAnswer(resolution=Resolution(name), columns=columns)

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


class AllExcept(Section):
    """All columns are compared but these."""

    all_except: tuple[str, ...] = Field(min_length=1)


def _compared(value: Any) -> Any:
    if isinstance(value, str):
        if value.lower() not in ("all", "key"):
            raise ValueError(f"{value!r} is neither all nor key: write a list of columns, [{value}]")
        return value.lower()
    return value


_NAMES = {"type": "array", "items": {"type": "string"}, "minItems": 1}
Compared = Annotated[
    Literal["all", "key"] | tuple[str, ...] | AllExcept | None,
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
    ConflictAnswer | None, _read(Conflict.INSERT_ROW_EXISTS), _schema(Conflict.INSERT_ROW_EXISTS)
]
UpdateRowExists = Annotated[
    ConflictAnswer | None, _read(Conflict.UPDATE_ROW_EXISTS), _schema(Conflict.UPDATE_ROW_EXISTS)
]
UpdateRowMissing = Annotated[
    ConflictAnswer | None, _read(Conflict.UPDATE_ROW_MISSING), _schema(Conflict.UPDATE_ROW_MISSING)
]
DeleteRowExists = Annotated[
    ConflictAnswer | None, _read(Conflict.DELETE_ROW_EXISTS), _schema(Conflict.DELETE_ROW_EXISTS)
]
DeleteRowMissing = Annotated[
    ConflictAnswer | None, _read(Conflict.DELETE_ROW_MISSING), _schema(Conflict.DELETE_ROW_MISSING)
]


class ConflictAnswers(Section):
    """These are the answers to the conflicts of a table, and the columns by which a change finds one."""

    compare: Compared = Field(
        None,
        description="columns whose old values have to be the target's: all, key, a list or {all_except: list};"
        " default: all",
    )
    compare_deletes: Compared = Field(None, description="the same for deletes; default: as `compare`")
    insert_row_exists: InsertRowExists = Field(None, description="an insert finds another row under its key")
    update_row_exists: UpdateRowExists = Field(None, description="an update finds another row than it was made to")
    update_row_missing: UpdateRowMissing = Field(None, description="an update finds no row")
    delete_row_exists: DeleteRowExists = Field(None, description="a delete finds another row than it was made to")
    delete_row_missing: DeleteRowMissing = Field(None, description="a delete finds no row")

    def answer(self, conflict: Conflict) -> ConflictAnswer | None:
        """Return the answer to a conflict; None: it is an error."""
        found: ConflictAnswer | None = getattr(self, conflict.value)
        return found

    @property
    def answers(self) -> dict[Conflict, ConflictAnswer]:
        """Return the answers that there are, by conflict."""
        return {one: found for one in Conflict if (found := self.answer(one)) is not None}

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns of the source that the entry names, each once."""
        found = [one.columns for one in self.answers.values()]
        for compared in (self.compare, self.compare_deletes):
            found += [compared] if isinstance(compared, tuple) else []
            found += [compared.all_except] if isinstance(compared, AllExcept) else []
        return tuple(dict.fromkeys(column for columns in found for column in columns))

    def compares(self, column: str, *, of_deletes: bool = False) -> bool:
        """Return whether the old value of a source's column, which is none of the key's, has to be the target's."""
        how = (self.compare_deletes if of_deletes else None) or self.compare
        if isinstance(how, AllExcept):
            return column not in how.all_except
        return column in how if isinstance(how, tuple) else how != "key"

    def renamed(self, names: Callable[[str], str]) -> ConflictAnswers:
        """Return the same answers with other names of the columns."""
        found: dict[str, Any] = {
            conflict.value: one.model_copy(update={"columns": tuple(map(names, one.columns))})
            for conflict, one in self.answers.items()
        }
        for key in ("compare", "compare_deletes"):
            compared = getattr(self, key)
            if isinstance(compared, tuple):
                found[key] = tuple(map(names, compared))
            elif isinstance(compared, AllExcept):
                found[key] = AllExcept(all_except=tuple(map(names, compared.all_except)))
        return self.model_copy(update=found)

    @property
    def discards(self) -> bool:
        """Are changes stored that lose a conflict?"""
        return any(found.resolution is Resolution.DISCARD for found in self.answers.values())
