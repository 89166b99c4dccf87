"""A row layout says which columns the rows of a table have, as the log described them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.model.table import Identity, Table


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """A column layout is one column of a row file, as the log described it at that moment.

    type_id, modifier: of the column's type, as in DataType.
    is_key: part of what identifies a row in the log (every column, where the log has whole old rows).
    encoding: "native" (an Arrow type of its own), "binary" (the engine's own form) or "text".
    """

    name: str
    type_id: int
    modifier: int
    is_key: bool
    encoding: str

    def to_json(self) -> list[Any]:
        """Return the column as a JSON array of the manifest."""
        return [self.name, self.type_id, self.modifier, self.is_key, self.encoding]


@dataclass(frozen=True, slots=True)
class Layout:
    """A layout is how the log describes a table's rows at a moment; the rows of one file share one.

    shape: of the table, where a client of Streams writes them. variant: rows of one table that are written to files of
    their own, side by side. is_transformed: the client has given them other names, columns or values.
    """

    table_id: int
    schema: str
    name: str
    identity: Identity
    columns: tuple[ColumnLayout, ...]
    shape: Table | None = None
    variant: int = 0
    is_transformed: bool = False
