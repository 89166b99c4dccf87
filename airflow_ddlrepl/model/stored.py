"""A stored shape, read when somebody looks at it: of thousands of tables a cycle needs those that have changes."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from typing import Any

from airflow_ddlrepl.model.table import Table

# In JSON a quote inside a text is escaped, so these are found as names only.
_ID = re.compile(r'\{"id":\s*(\d+)\s*[,}]')
_OID = re.compile(r'"oid":\s*(\d+)')
_NOT_PARTITIONED = re.compile(r'"partition_key":\s*null')
_TEXT = "storage"  # the field that holds the text until it is read


def stored(text: str) -> Table:
    """The table of this JSON, which is `to_json`'s. A text that is none shows at the first look, as it would here."""
    table = object.__new__(_Stored)
    object.__setattr__(table, _TEXT, text)
    return table


class _Stored(Table):
    """Becomes a Table at the first look that the text alone can't answer."""

    __slots__ = ()

    def __getattribute__(self, name: str) -> Any:
        text = object.__getattribute__(self, _TEXT)
        if isinstance(text, str):  # another thread may have read it
            if name == "id" and (found := _ID.match(text)):
                return int(found[1])
            if name == "is_partitioned" and _NOT_PARTITIONED.search(text):
                return False
            if name == "type_oids":
                return frozenset(map(int, _OID.findall(text)))
            _read(self, text)
        return object.__getattribute__(self, name)


def _read(table: _Stored, text: str) -> None:
    """The text goes last: who still finds it reads it once more, to the same end."""
    read = Table.from_json(json.loads(text))
    for name in [f.name for f in fields(Table) if f.name != _TEXT]:
        object.__setattr__(table, name, getattr(read, name))
    object.__setattr__(table, _TEXT, read.storage)
    object.__setattr__(table, "__class__", Table)
