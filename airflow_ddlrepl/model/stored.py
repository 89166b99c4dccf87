"""This module defines tables that are stored as JSON and parsed on first use: a cycle uses few of a thousand tables."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from typing import Any

from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_text import read_table

# In JSON a quote inside a text is escaped, so these are found as names only.
_ID = re.compile(r'\{"id":\s*(\d+)\s*[,}]')
_NAME = re.compile(r'\{"id":\s*\d+,\s*"name":\s*(\["(?:[^"\\]|\\.)*",\s*"(?:[^"\\]|\\.)*"\])')
_OID = re.compile(r'"oid":\s*(\d+)')
_NO_TYPES = re.compile(r'"types":\s*\[\]')
_NOT_PARTITIONED = re.compile(r'"partition_key":\s*null')
_TEXT = "storage"  # the field that holds the text until it is read
_OTHERS = tuple(one.name for one in fields(Table) if one.name != _TEXT)


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
            self.answers[name] = TableName(*json.loads(found[1]))
        elif name == "is_partitioned" and _NOT_PARTITIONED.search(text):
            self.answers[name] = False
        elif name == "types" and _NO_TYPES.search(text):
            self.answers[name] = ()
        elif name == "type_oids":
            self.answers[name] = frozenset(map(int, _OID.findall(text)))
        return name in self.answers


class _Stored(Table):
    """A stored table becomes a Table when an attribute is read that a search in its text can't answer."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        unread = _get(self, _TEXT)
        if isinstance(unread, _Unread):  # another thread may have read it
            if name in unread.answers or unread.find(name):
                return unread.answers[name]
            _read(self, unread.text)
        return _get(self, name)


_get = object.__getattribute__


def _read(table: _Stored, text: str) -> None:
    """Parse the text and turn the stored table into a Table.

    The text is replaced last: another thread that still finds it parses it once more, with the same result.
    """
    read = read_table(text)
    for name in _OTHERS:
        object.__setattr__(table, name, getattr(read, name))
    object.__setattr__(table, _TEXT, read.storage)
    object.__setattr__(table, "__class__", Table)
