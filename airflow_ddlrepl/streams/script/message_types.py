"""This module reads types of user messages from CREATE TYPE … AS OBJECT."""

from __future__ import annotations

import re

from airflow_ddlrepl.sql import lexical

_TYPE = re.compile(
    r'\s*CREATE\s+(?:OR\s+REPLACE\s+)?TYPE\s+("?[\w$#".]+"?)\s+(?:AUTHID\s+\w+\s+)?(?:AS|IS)\s+OBJECT\s*\((.*)\)',
    re.IGNORECASE | re.DOTALL,
)
_FIELD = re.compile(rf"\s*({lexical.PLAIN_NAME}|[\w$#]+)\s+([A-Za-z]\w*)")
_KINDS = {
    **dict.fromkeys(("VARCHAR2", "VARCHAR", "CHAR", "NVARCHAR2", "NCHAR", "CLOB", "NCLOB"), "text"),
    **dict.fromkeys(("NUMBER", "INTEGER", "INT", "FLOAT", "BINARY_FLOAT", "BINARY_DOUBLE", "DECIMAL"), "number"),
    **dict.fromkeys(("DATE", "TIMESTAMP"), "date"),
    **dict.fromkeys(("RAW", "BLOB"), "raw"),
}


def message_type(text: str) -> tuple[str, dict[str, str]] | None:
    """Return the name of a type and its fields with their kinds; None for another statement, and other types."""
    found = _TYPE.match(text)
    if found is None:
        return None
    fields = {}
    for part in re.split(r",(?![^(]*\))", found[2]):
        field = _FIELD.match(part)
        kind = _KINDS.get(field[2].upper()) if field else None
        if field is None or kind is None:
            return None
        fields[field[1]] = kind
    return found[1], fields
