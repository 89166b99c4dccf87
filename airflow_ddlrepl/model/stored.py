"""Tables as JSON text: parsed on first use, as a cycle uses few of a thousand; columns with equal texts are read once.

What a text says of a table is found by the names in it: inside of a JSON string a quote is escaped, so no name,
default or statement can look like them. A text that is spelled otherwise is read without that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any

from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.stored_names import TYPE_ID
from airflow_ddlrepl.model.table import Column, Table, columns_from_json, plain_column

# In JSON a quote inside a text is escaped, so these are found as names only.
_ID = re.compile(r'\{"id":\s*(\d+)\s*[,}]')
_NAME = re.compile(r'\{"id":\s*\d+,\s*"name":\s*(\["([^"\\]*(?:\\.[^"\\]*)*)",\s*"([^"\\]*(?:\\.[^"\\]*)*)"\])')
_TYPE_ID = re.compile(rf'"{TYPE_ID}":\s*(\d+)')
# As we write it, and as jsonb is written. A search from the end, where they are, takes a tenth of a pattern's time.
_NO_TYPES = ('"types":[]', '"types": []')
_NOT_PARTITIONED = ('"partition_key":null', '"partition_key": null')
_DEFAULT, _NO_DEFAULT, _CONSTRAINTS = '"default":', ('"default":null', '"default": null'), '"constraints":'
_TEXT = "storage"  # the field that holds the text until it is read
_OTHERS = tuple(one.name for one in fields(Table) if one.name != _TEXT)
_BEGIN = '"columns":'
_END = re.compile(r'\],(?:"key":| "key":| "storage":)')  # as we write it, with spaces, and in the order of jsonb
_COLUMNS_END, _WITHOUT_TYPES = '],"key":', '"types":[]'  # as we write them
LONGEST = 1 << 14  # characters of columns that are shared
MOST_TEXTS = 1 << 15
_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_texts: dict[int, tuple[Column, str]] = {}


def stored(text: str) -> Table:
    """Return the table of this JSON text, which `Table.to_json` wrote, and which is parsed on first use.

    A text that is no such JSON raises at the first use, with the error that parsing it here would raise.
    """
    table = object.__new__(_Stored)
    object.__setattr__(table, _TEXT, _Unread(text))
    return table


class _Unread:
    """An unread table is its text, with the answers that were found in it so far."""

    __slots__ = ("answers", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.answers: dict[str, Any] = {}

    def find(self, name: str) -> bool:
        """Look for the value of an attribute in the text; return whether it is among the answers from now on."""
        text = self.text
        if name == "id" and (found := _ID.match(text)):
            self.answers[name] = int(found[1])
        elif name == "name" and (found := _NAME.match(text)):
            self.answers[name] = TableName(*(json.loads(found[1]) if "\\" in found[1] else found.group(2, 3)))
        elif (name == "is_partitioned" and _has_near_end(text, _NOT_PARTITIONED)) or (
            name == "has_expressions" and _has_no_expressions(text)
        ):
            self.answers[name] = False
        elif name == "types" and _has_near_end(text, _NO_TYPES):
            self.answers[name] = ()
        elif name == "type_ids":
            self.answers[name] = _type_ids(text)
        return name in self.answers


class _Stored(Table):
    """A stored table becomes a Table when an attribute is read that a search in its text can't answer."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        unread = _get(self, _TEXT)
        if isinstance(unread, _Unread):  # another thread may have read it
            if name in unread.answers or unread.find(name):
                return unread.answers[name]
            _become(self, unread.text)
        return _get(self, name)


_get = object.__getattribute__


def _become(table: _Stored, text: str) -> None:
    """Parse the text and turn the stored table into a Table.

    The text is replaced last: another thread that still finds it parses it once more, with the same result.
    """
    read = read_table(text)
    for name in _OTHERS:
        object.__setattr__(table, name, getattr(read, name))
    object.__setattr__(table, _TEXT, read.storage)
    object.__setattr__(table, "__class__", Table)


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


def beside_table(text: str) -> dict[str, Any]:
    """Return the object of a target's text of a table where it has settings, a suspension or a partial refresh.

    text: as the server gives jsonb. Most have none, and are not read: the result is empty then.
    """
    is_plain = '"properties": ""' in text and '"suspension": ' not in text and '"partial": ' not in text
    return {} if is_plain else dict(json.loads(text))


def with_tables(data: Mapping[str, Any], **tables: tuple[Table, ...]) -> str:
    """Return the JSON text of an object with further fields that are lists of tables."""
    lists = (f'"{name}":[{",".join(map(table_text, found))}]' for name, found in tables.items())
    return f"{_encode(data)[:-1]},{','.join(lists)}}}"


def read_table(text: str) -> Table:
    """Return the table of a JSON text that `Table.to_json` or the source's server wrote."""
    return Table.from_json(_parsed(text, lambda data: (data,)))


def read_with_tables(text: str) -> dict[str, Any]:
    """Return a JSON object whose fields `tables` and `before` are lists of what `Table.from_json` takes."""
    found = _parsed(text, lambda data: (one for name in ("tables", "before") for one in data.get(name) or ()))
    return dict(found)


def _parsed(text: str, tables_in: Callable[[dict[str, Any]], Iterable[Any]]) -> Any:
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
                one["columns"] = (
                    _cached_columns(known) if len(known) <= LONGEST else columns_from_json(json.loads(known))
                )
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
            if (end := _END.search(text, begin)) is None:
                return
            at = end.start()
            yield begin, at + 1
        at = text.find(_BEGIN, begin)


@lru_cache(4096)
def _cached_columns(text: str) -> tuple[Column, ...]:
    return columns_from_json(json.loads(text))


def _has_near_end(text: str, spellings: tuple[str, str]) -> bool:
    """Return whether a table's text has one of two spellings, which are near its end."""
    compact, spaced = spellings
    return text.rfind(compact) >= 0 or text.rfind(spaced) >= 0


def _has_no_expressions(text: str) -> bool:
    """Return whether each default in a table's text is null, and none of its types can have a constraint."""
    return _CONSTRAINTS not in text and text.count(_DEFAULT) == sum(map(text.count, _NO_DEFAULT))


def _type_ids(text: str) -> frozenset[int]:
    """Return the ids of all types in a table's text; those of equal columns are looked for once."""
    begin = text.find(_BEGIN)
    end = text.find(_COLUMNS_END, begin)
    if 0 <= begin < end and text.find(_WITHOUT_TYPES, end) > 0:
        return _type_ids_in(text[begin:end])
    return frozenset(map(int, _TYPE_ID.findall(text)))


@lru_cache(4096)
def _type_ids_in(columns: str) -> frozenset[int]:
    return frozenset(map(int, _TYPE_ID.findall(columns)))


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
