"""This module defines the SQL dialects whose DDL text can be read."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple, Self

from airflow_ddlrepl.sql import lexical


class Dialect(StrEnum):
    """A dialect says how text is written: its quotes, comments and what unquoted names become.

    postgres: "names", dollar quotes, nested comments, lower case. mysql: `names`, # comments, backslashes in strings,
    executable comments, names as written. oracle: "names", upper case.
    """

    POSTGRES = "postgres"
    MYSQL = "mysql"
    ORACLE = "oracle"

    def fold(self, word: str) -> str:
        """Return the name that a word without quotes stands for."""
        return _FOLD[self](word)


_FOLD: dict[Dialect, Callable[[str], str]] = {
    Dialect.POSTGRES: lexical.lower,
    Dialect.MYSQL: str,
    Dialect.ORACLE: str.upper,
}


OURS = Dialect.POSTGRES
"""The dialect of names in a channel file, and of texts that we make."""


class Dialects(NamedTuple):
    """The dialects of a statement are the source's, in which it is written, and the target's."""

    source: Dialect
    target: Dialect

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the dialects that `postgres:mysql` names, or `postgres` for both. Raises ValueError."""
        source, _, target = text.partition(":")
        return cls(Dialect(source), Dialect(target or source))
