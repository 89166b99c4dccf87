"""Read and write an action as one line of text with HVR's names: `AddTablePattern=t*, KeepExistingStructure`.

HVR 5's notation is read, too: `/AddTablePattern="t*" /KeepExistingStructure`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from airflow_ddlrepl.hvr.transforms import NOT_TOGETHER, SAP_UNPACK
from airflow_ddlrepl.notation.suggestion import suggestion

PARAMETERS = {
    "Table": "table",
    "AddTablePattern": "add_table_pattern",
    "IgnoreTablePattern": "ignore_table_pattern",
    "CaptureSchema": "capture_schema",
    "IntegrateSchema": "integrate_schema",
    "OnEnrollBreak": "on_enroll_break",
    "OnAddColumnWithDefault": "on_add_column_with_default",
    "OnPreserveAlterTableFail": "on_preserve_alter_table_fail",
    "OnDropTable": "on_drop_table",
    "KeepExistingStructure": "keep_existing_structure",
    "KeepOldRows": "keep_old_rows",
    "RefreshOptions": "refresh_options",
}
FLAGS = ("KeepExistingStructure", "KeepOldRows", "Absent")
_PARAMETER = re.compile(r'\s*(\w+)\s*(?:=\s*("(?:[^"]|"")*"|[^,"]*?))?\s*(,|$)')
_SLASHED = re.compile(r'\s*/(\w+)(?:\s*=\s*("(?:[^"]|"")*"|[^\s"]*))?(?:\s+|$)')


COLUMN_PARAMETERS = {
    "Table": "tables",
    "Name": "columns",
    "BaseName": "name",
    "Absent": "absent",
    "Targets": "targets",
}
TABLE_PARAMETERS = {"Table": "tables", "BaseName": "name", "Targets": "targets"}
RESTRICT_PARAMETERS = {
    "Table": "tables",
    "Condition": "condition",
    "RefreshCondition": "refresh",
    "IntegrateCondition": "integrate",
    "CaptureCondition": "capture",
    "Context": "context",
    "Targets": "targets",
}
Parameters = Mapping[str, str]


def read_action(text: str, parameters: Parameters = PARAMETERS) -> dict[str, Any]:
    """Parse the line into our keys and values.

    A value with a comma is written in double quotes, and a quote in it is doubled. parameters: HVR's names and our keys
    of AdaptDDL, ColumnProperties, TableProperties or Restrict.

    Raises ValueError for a parameter that does not exist, that is repeated, or that lacks its value.
    """
    return read_parameters(split_parameters(text), parameters)


def read_parameters(values: Mapping[str, str | None], parameters: Parameters = PARAMETERS) -> dict[str, Any]:
    """Return our keys and values for HVR's parameters; None: a parameter without a value.

    Raises ValueError for a parameter that does not exist, or that lacks its value.
    """
    found: dict[str, Any] = {}
    for name, value in values.items():
        if name == SAP_UNPACK and parameters is PARAMETERS:
            raise ValueError(NOT_TOGETHER)
        if name not in parameters:
            raise ValueError(f"there is no parameter {name}; {suggestion(name, parameters)}")
        found[parameters[name]] = _flag(name, value) if name in FLAGS else _value(name, value)
    return found


def split_parameters(text: str) -> dict[str, str | None]:
    """Split `Name=value, Flag`, or HVR 5's `/Name="value" /Flag`, into names and values; None: there is no value.

    Raises ValueError for a text that can't be split, and for a name that is repeated.
    """
    found: dict[str, str | None] = {}
    form = _SLASHED if text.lstrip().startswith("/") else _PARAMETER
    example = '/Parameter="value"' if form is _SLASHED else 'Parameter=value, or Parameter="va,lue"'
    place = 0
    while place < len(text.rstrip()):
        part = form.match(text, place)
        if part is None:
            raise ValueError(f"{text[place:].strip()!r} can't be read: write {example}")
        if part[1] in found:
            raise ValueError(f"{part[1]} is given twice")
        value = part[2]
        found[part[1]] = value[1:-1].replace('""', '"') if value and value.startswith('"') else value
        place = part.end()
    return found


def _flag(name: str, value: str | None) -> bool:
    if value not in (None, "true", "false"):
        raise ValueError(f"{name} takes no value, or false")
    return value != "false"


def _value(name: str, value: str | None) -> str:
    if value is None:
        raise ValueError(f"{name} needs a value: {name}=…")
    return value


def write_action(values: dict[str, Any]) -> str:
    """Return the line of text for these keys and values; None values are left out."""
    values_by_name = {name: values.get(key) for name, key in PARAMETERS.items()}
    return ", ".join(_parameter_text(name, value) for name, value in values_by_name.items() if value is not None)


def _parameter_text(name: str, value: str | bool) -> str:
    if isinstance(value, bool):
        return name if value else f"{name}=false"
    return f"{name}={_quoted(value)}"


def _quoted(value: str) -> str:
    return '"' + value.replace('"', '""') + '"' if re.search(r'[,"]|^\s|\s$', value) else value
