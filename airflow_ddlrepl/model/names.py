"""Names of tables as the source spells them."""

from __future__ import annotations

from typing import NamedTuple


class TableName(NamedTuple):
    """A table's schema and name, unquoted, case kept."""

    schema: str
    name: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"
