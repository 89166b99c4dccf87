"""This module defines the base class and the value types of all sections of a channel file."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, WithJsonSchema

from airflow_ddlrepl.notation.name_pattern import split_table_pattern


class Section(BaseModel):
    """A section is one mapping of a channel file: frozen, without unknown keys, and with no values in its errors.

    Its validator is built when it is first used: that of the whole file has all others in it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, defer_build=True)


def any_case(values: type[StrEnum]) -> WithJsonSchema:
    """Return the JSON Schema of an enum whose values are accepted in upper and lower case."""
    names = [member.value for member in values]
    return WithJsonSchema({"type": "string", "enum": names + [name.lower() for name in names]})


def _upper(value: Any) -> Any:
    return value.upper() if isinstance(value, str) else value


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


IN_UPPER_CASE = BeforeValidator(_upper)
"""A text is taken in upper or lower case."""
NUMBER_AS_TEXT = BeforeValidator(_as_text)
"""A text that YAML takes for a number is the number's text."""


def _yes_or_no(value: Any) -> Any:
    if not isinstance(value, bool):
        raise ValueError("has to be true or false")
    return value


def _whole(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("has to be a whole number")
    return value


def _unit(units: dict[str, int], example: str) -> Callable[[Any], Any]:
    form = re.compile(rf"^\s*(\d+)\s*({'|'.join(sorted(units, key=len, reverse=True))})\s*$", re.IGNORECASE)

    def read(value: Any) -> Any:
        _whole(value)
        if not isinstance(value, str):
            return value
        found = form.match(value)
        if not found:
            raise ValueError(f"has to be a number with a unit, for example {example}")
        return int(found.group(1)) * next(n for unit, n in units.items() if unit.lower() == found.group(2).lower())

    return read


_TIME = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_SIZE = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_NUMBER_OR_TEXT = WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string"}]})


def _table_pattern(value: str) -> str:
    split_table_pattern(value)
    return value


TablePattern = Annotated[str, AfterValidator(_table_pattern)]
YesNo = Annotated[bool, BeforeValidator(_yes_or_no, json_schema_input_type=bool)]
Whole = Annotated[int, BeforeValidator(_whole, json_schema_input_type=int)]
Seconds = Annotated[int, BeforeValidator(_unit(_TIME, "90s, 12h or 7d")), _NUMBER_OR_TEXT]
Bytes = Annotated[int, BeforeValidator(_unit(_SIZE, "256MB or 10GB")), _NUMBER_OR_TEXT]
