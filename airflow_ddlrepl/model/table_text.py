"""This module reads and writes the JSON text of tables: thousands of tables have the same columns, which are read once.

What a text says of the columns is found by the names around it: inside of a JSON string a quote is escaped, so no name,
default or statement can look like them. A text that is spelled otherwise is read without that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from airflow_ddlrepl.model.table import Column, Table, columns_from_json, plain_column

_BEGIN = '"columns":'
_ENDS = ('],"key":', '], "key":', '], "storage":')  # as we write it, with spaces, and in the order of jsonb
LONGEST = 1 << 14  # characters of columns that are shared
MOST_TEXTS = 1 << 15
_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_texts: dict[int, tuple[Column, str]] = {}


class TableText:
    """A table text is the JSON text of a table, for a database's driver to send as it is."""

    __slots__ = ("text",)

    def __init__(self, table: Table) -> None:
        self.text = table_text(table)


def serialized(value: Any) -> str:
    """Return a value as JSON text, as `json.dumps` does; a table's text is one already."""
    return value.text if isinstance(value, TableText) else json.dumps(value)


def table_text(table: Table, more: Mapping[str, Any] | None = None) -> str:
    """Return the JSON text of `Table.to_json`, in ASCII. more: further fields of the object, after the table's own."""
    data = table.rest_to_json()
    del data["columns"]
    head = f'{{"id":{data.pop("id")},"name":{_encode(data.pop("name"))},"columns":['
    return f"{head}{','.join(map(_column_text, table.columns))}],{_encode({**data, **(more or {})})[1:]}"


def with_tables(data: Mapping[str, Any], **tables: tuple[Table, ...]) -> str:
    """Return the JSON text of an object with further fields that are lists of tables."""
    lists = (f'"{name}":[{",".join(map(table_text, found))}]' for name, found in tables.items())
    return f"{_encode(data)[:-1]},{','.join(lists)}}}"


def read_table(text: str) -> Table:
    """Return the table of a JSON text that `Table.to_json` or the source's server wrote."""
    return Table.from_json(_read(text, lambda data: (data,)))


def read_with_tables(text: str) -> dict[str, Any]:
    """Return a JSON object whose fields `tables` and `before` are lists of what `Table.from_json` takes."""
    found = _read(text, lambda data: (one for name in ("tables", "before") for one in data.get(name) or ()))
    return dict(found)


def _read(text: str, tables_in: Callable[[dict[str, Any]], Iterable[Any]]) -> Any:
    """Return the JSON value of a text. tables_in: yields its tables, whose columns become those of shared texts."""
    pieces: list[str] = []
    columns: list[str] = []
    at = 0
    for begin, end in _places(text):
        pieces += [text[at:begin], str(len(columns))]
        columns.append(text[begin:end])
        at = end
    if not columns:
        return json.loads(text)
    try:
        value = json.loads("".join((*pieces, text[at:])))
        tables = list(tables_in(value))
        if [one["columns"] for one in tables] == list(range(len(columns))):
            for one, known in zip(tables, columns, strict=True):
                one["columns"] = _shared(known) if len(known) <= LONGEST else columns_from_json(json.loads(known))
            return value
    except (ValueError, TypeError, KeyError, AttributeError):
        pass  # it is spelled otherwise, or no such JSON: then this raises
    return json.loads(text)


def _places(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each list of a table's columns begins and ends in a text."""
    at = text.find(_BEGIN)
    while at >= 0:
        begin = at + len(_BEGIN)
        begin += text.startswith(" ", begin)
        if text.startswith("[{", begin):  # else they are numbers of a key's columns
            ends = [end for end in (text.find(one, begin) for one in _ENDS) if end >= 0]
            if not ends:
                return
            at = min(ends)
            yield begin, at + 1
        at = text.find(_BEGIN, begin)


@lru_cache(4096)
def _shared(text: str) -> tuple[Column, ...]:
    return columns_from_json(json.loads(text))


def _column_text(column: Column) -> str:
    """Return a column's JSON text, made once for each object: equal ones may differ in what is not compared."""
    known = _texts.get(id(column))
    if known is not None and known[0] is column:
        return known[1]
    if len(_texts) >= MOST_TEXTS:
        _texts.clear()
    text = _encode(plain_column(column))
    _texts[id(column)] = column, text
    return text
