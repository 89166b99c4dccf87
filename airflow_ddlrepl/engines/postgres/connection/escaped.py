"""This module shows texts of a database that does not look at their bytes (SQL_ASCII), as ddlrepl.as_utf8 does."""

from __future__ import annotations


def escaped(text: bytes) -> str:
    """Return a text of any bytes; if it is no UTF-8, each byte that is no ASCII stands in it as `\\xe9`."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("ascii", "backslashreplace")


def readable_name(name: str) -> str:
    """Return a name that was decoded with surrogates for bytes that are no UTF-8, with these escaped."""
    return name if name.isascii() else escaped(name.encode("utf-8", "surrogateescape"))
