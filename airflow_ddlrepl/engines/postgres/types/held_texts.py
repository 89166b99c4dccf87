"""This module writes JSON of ours into databases whose encoding does not have all characters, and reads it again.

A target in LATIN1 can't hold the default or the label of a table that it will not get; what we note of such a table has
to be there all the same. A character that the encoding lacks is written as a control character, its number, and `;`;
so is that control character itself.
"""

from __future__ import annotations

import json
import re
from typing import Any
from weakref import WeakKeyDictionary

from airflow_ddlrepl.engines.postgres.connection.driver import Connection

_CODECS = {"EUC_JP": "euc_jp", "EUC_KR": "euc_kr", "EUC_CN": "gb2312"}
_ANY = ("UTF8", "SQL_ASCII")
_encodings: WeakKeyDictionary[Connection[Any], str] = WeakKeyDictionary()  # asked for each text of thousands of tables
_ESCAPE = re.compile(r"\\(?:u([0-9a-f]{4})|.)")
_SIGN = "\x1a"
_SIGN_TEXT = json.dumps(_SIGN)[1:-1]
_WRITTEN = re.compile(r"\\(?:u001a([0-9a-f]{4});|.)")


def dumped(connection: Connection[Any], value: Any) -> str:
    """Return a value as JSON that the database of this session can hold."""
    return as_held(connection, json.dumps(value))


def as_held(connection: Connection[Any], text: str) -> str:
    """Return JSON text in ASCII as the database of this session can hold it; `as_dumped` returns it again."""
    encoding = _encoding(connection)
    if encoding in _ANY:
        return text
    codec = _CODECS.get(encoding, _codec(encoding))
    return _ESCAPE.sub(lambda found: found[0] if _has(codec, found[1]) else f"\\u001a{found[1]};", text)


def encodable(connection: Connection[Any], text: str) -> str:
    """Return a text as the database of this session can hold it; `loaded` returns it again."""
    return text if text.isascii() and _SIGN not in text else str(json.loads(dumped(connection, text)))


def as_dumped(connection: Connection[Any], text: str) -> str:
    """Return JSON that `dumped` has written with all its characters. text: as the server tells it."""
    if _SIGN_TEXT not in text or _encoding(connection) in _ANY:
        return text
    return _WRITTEN.sub(lambda found: f"\\u{found[1]}" if found[1] else found[0], text)


def loaded(connection: Connection[Any], value: Any) -> Any:
    """Return a value of JSON that `dumped` has written with all its characters. value: as the driver gives it."""
    if (isinstance(value, str) and _SIGN not in value) or _encoding(connection) in _ANY:
        return value
    return json.loads(as_dumped(connection, json.dumps(value)))


def _encoding(connection: Connection[Any]) -> str:
    found = _encodings.get(connection)
    if found is None:
        found = _encodings[connection] = connection.info.parameter_status("server_encoding") or "UTF8"
    return found


def _codec(encoding: str) -> str:
    """Return the name of Python's codec for an encoding of PostgreSQL's."""
    found = re.fullmatch(r"(LATIN|ISO_8859_|WIN|KOI8)(\w*)", encoding)
    kinds = {"LATIN": "latin-", "ISO_8859_": "iso8859-", "WIN": "cp", "KOI8": "koi8-"}
    return f"{kinds[found[1]]}{found[2].lower()}" if found else "ascii"


def _has(codec: str, number: str | None) -> bool:
    """Has the encoding the character with this number, in hexadecimal digits? None: it is none."""
    if number is None:
        return True
    character = chr(int(number, 16))
    try:
        is_there = character.encode(codec).decode(codec) == character  # some codecs write a yen sign as a backslash
    except (UnicodeEncodeError, LookupError):
        is_there = character.isascii()
    return is_there and character != _SIGN
