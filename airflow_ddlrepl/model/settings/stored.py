"""This module writes and reads a table's settings in the form in which a target stores them: one JSON text.

The text lists what the sections of the channel file say, each entry with the keys that are not as by default. A target
that a former version wrote to has the same text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from functools import lru_cache
from typing import Any, cast

from airflow_ddlrepl.model.settings.conflicts import (
    AllExcept,
    Compared,
    Conflict,
    ConflictAnswer,
    ConflictAnswers,
    Resolution,
)
from airflow_ddlrepl.model.settings.row_kind import RowKind
from airflow_ddlrepl.model.settings.table_settings import (
    NO_SETTINGS,
    CoerceErrorPolicy,
    ColumnName,
    Names,
    OwnColumns,
    Rows,
    TableSettings,
    Values,
)

MOST = 4096
Entry = dict[str, Any]


@lru_cache(maxsize=MOST)
def settings_to_text(settings: TableSettings) -> str:
    """Return the text that a target stores; empty where the settings are all as by default."""
    entries = list(_entries(settings))
    return json.dumps(entries, sort_keys=True, ensure_ascii=False) if entries else ""


@lru_cache(maxsize=MOST)
def settings_from_text(text: str) -> TableSettings:
    """Return the settings that a target has stored, as this version or an older one wrote them."""
    entries: list[Entry] = json.loads(text) if text else []
    if not entries:
        return NO_SETTINGS
    return TableSettings(
        _names(entries),
        _rows(entries),
        next((_values(one) for one in entries if "function" in one), None),
        next((_columns_of_target(one) for one in entries if one.keys() & _OWN), OwnColumns()),
        next((_conflicts(one) for one in entries if one.keys() & _OF_CONFLICTS), None),
    )


def _entries(settings: TableSettings) -> Iterator[Entry]:
    """Yield what each section says, in the order of the stored text; sections that say nothing are not there."""
    names, rows, values, own = settings.names, settings.rows, settings.values, settings.columns
    for column in names.columns:
        yield {"columns": list(column.columns), **_called(column.name)}
    if names.table is not None:
        yield {"name": names.table}
    taken = {"condition": rows.condition, "capture": rows.capture, "integrate": rows.integrate}
    sections: list[Entry] = [
        {**taken, "ignore": [kind.value for kind in rows.ignore]},
        {"refresh": rows.refresh, "context": rows.refresh_context},
        _of_values(values) if values is not None else {},
        {**_as_fields(own), "coerce_error_policy": "" if own.misfits is CoerceErrorPolicy.FAIL else own.misfits.value},
        {"at_target": names.mapped},
        _of_conflicts(settings.conflicts) if settings.conflicts is not None else {},
    ]
    for section in sections:
        if found := {name: value for name, value in section.items() if value}:
            yield found


def _called(name: str | None) -> Entry:
    return {"absent": True} if name is None else {"name": name}


def _of_values(values: Values) -> Entry:
    return {name: value for name, value in _as_fields(values).items() if value != _USUAL.get(name)}


def _as_fields(one: Values | OwnColumns) -> Entry:
    found = {field.name: getattr(one, field.name) for field in fields(one) if field.name != "misfits"}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}


_NO_VALUES = Values("", ())
_USUAL = _as_fields(_NO_VALUES)
"""What a function has where the file says nothing."""


def _of_conflicts(answers: ConflictAnswers) -> Entry:
    compared = {"compare": answers.compare, "compare_deletes": answers.compare_deletes}
    found: Entry = {name: _compared_text(value) for name, value in compared.items() if value is not None}
    return {**found, **{conflict.value: one.as_written for conflict, one in answers.answers.items()}}


def _compared_text(compared: Compared) -> Any:
    if isinstance(compared, AllExcept):
        return {"all_except": list(compared.all_except)}
    return list(compared) if isinstance(compared, tuple) else compared


_OWN = frozenset((*(field.name for field in fields(OwnColumns) if field.name != "misfits"), "coerce_error_policy"))
_OF_ROWS = frozenset(("condition", "capture", "integrate", "refresh", "ignore"))
_OF_CONFLICTS = frozenset(("compare", "compare_deletes", *(conflict.value for conflict in Conflict)))


def _names(entries: list[Entry]) -> Names:
    columns = (one for one in entries if "columns" in one and "function" not in one)
    tables = (one["name"] for one in entries if "name" in one and "columns" not in one)
    return Names(
        tuple(ColumnName(tuple(one["columns"]), one.get("name")) for one in columns),
        next(tables, None),
        next((one["at_target"] for one in entries if "at_target" in one), None),
    )


def _rows(entries: list[Entry]) -> Rows:
    found: Entry = {}
    for one in entries:
        if one.keys() & _OF_ROWS:
            found = {**one, **found}
    if not found:
        return NO_SETTINGS.rows
    texts = {name: found.get(name, "") for name in ("condition", "capture", "integrate", "refresh")}
    kinds = tuple(map(RowKind, found.get("ignore", ())))
    return Rows(**texts, refresh_context=found.get("context", ""), ignore=kinds)


def _values(entry: Entry) -> Values:
    return Values(
        entry["function"],
        tuple(entry["columns"]),
        tuple(entry.get("reads", _NO_VALUES.reads)),
        entry.get("version", ""),
        entry.get("seconds", _NO_VALUES.seconds),
    )


def _columns_of_target(entry: Entry) -> OwnColumns:
    return OwnColumns(
        entry.get("soft_delete"),
        entry.get("deleted_at"),
        tuple(entry.get("key", ())),
        entry.get("time_key", False),
        entry.get("extra", {}),
        entry.get("types", {}),
        CoerceErrorPolicy(entry.get("coerce_error_policy", CoerceErrorPolicy.FAIL)),
    )


def _conflicts(entry: Entry) -> ConflictAnswers:
    answers = {conflict: _conflict_answer(entry[conflict.value]) for conflict in Conflict if conflict.value in entry}
    return ConflictAnswers(_compared(entry.get("compare")), _compared(entry.get("compare_deletes")), answers)


def _compared(value: Any) -> Compared:
    if isinstance(value, dict):
        return AllExcept(tuple(value["all_except"]))
    return cast(Compared, tuple(value) if isinstance(value, list) else value)


def _conflict_answer(value: Any) -> ConflictAnswer:
    if isinstance(value, str):
        return ConflictAnswer(Resolution(value))
    ((resolution, columns),) = value.items()
    return ConflictAnswer(Resolution(resolution), (columns,) if isinstance(columns, str) else tuple(columns))
