"""This module defines the names of tables, as the source spells them."""

from __future__ import annotations

from typing import NamedTuple

from airflow_ddlrepl.visible import one_line

MAX_NAME_BYTES = 63
"""A name that we make, or read of the channel file, is no longer: every engine has names of this length."""


class TableName(NamedTuple):
    """A table name is a schema and a name, unquoted, with upper and lower case as in the catalog.

    As a text it is for people: it stays in its line.
    """

    schema: str
    name: str

    def __str__(self) -> str:
        return one_line(f"{self.schema}.{self.name}")


def displaced_name(name: str, of: object) -> str:
    """Return the new name of a table or type whose name another one gets; `of` is its id."""
    return f"{shortened(name)}_kept_{of}"


def shortened(name: str) -> str:
    """Return the name's first 40 bytes; with an id behind them they are a name that no server truncates."""
    return name.encode()[:40].decode(errors="ignore")
