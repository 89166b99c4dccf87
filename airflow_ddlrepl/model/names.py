"""Names of tables as the source spells them."""

from __future__ import annotations

from typing import NamedTuple


class TableName(NamedTuple):
    """A table's schema and name, unquoted, case kept."""

    schema: str
    name: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"


def aside(name: str, of: object) -> str:
    """What a table or type is called that has made way for another one of its name. of: its id."""
    return f"{stem(name)}_kept_{of}"


def stem(name: str) -> str:
    """Its first 40 bytes: with an id behind them they are a name that a server takes as it is."""
    return name.encode()[:40].decode(errors="ignore")
