"""A channel from a PostgreSQL database into a lake, and what readers see there, now and as of earlier moments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyiceberg.catalog.sql import SqlCatalog

from airflow_ddlrepl.engines.lake.catalog.window import Window
from airflow_ddlrepl.engines.lake.connection.database import writing
from airflow_ddlrepl.model.names import TableName
from tests.support.lakes.outsider import somebody
from tests.support.lakes.reader import pointers, rows_at
from tests.support.replica import Replica, channel_file


def by_hand(location: str, name: TableName, *statements: str, columns: str = "") -> None:
    """Somebody changes a table of a lake; one with these columns is made first."""
    window = Window(location, "somebody")
    if columns:
        window.create(name, columns)
    for one in statements:
        window.spark.sql(one.format(window.table(name)))
    with writing(location) as connection:
        window.flip(connection)


class Lake(Replica):
    """A channel from a PostgreSQL database into a lake."""

    def __init__(self, source: str, folder: Path, settings: str = "", **more: Any) -> None:
        """settings: more of the location."""
        self.catalog = folder / "lake" / "catalog.db"
        self.location = f"iceberg://{self.catalog}?warehouse={folder}/lake/files&{settings}"
        super().__init__(source, "", channel_file(folder, source, self.location, **more))

    def read(self, name: TableName) -> list[dict[str, str | None]]:
        """The rows of a table as another reader sees them."""
        columns, found = rows_at(pointers(self.location)[name])
        return sorted((dict(zip(columns, row, strict=True)) for row in found), key=str)

    def by_hand(self, name: TableName, *statements: str) -> None:
        """Somebody changes a table at the lake."""
        by_hand(self.location, name, *statements)

    def table(self, name: TableName) -> Any:
        """A table as PyIceberg reads it."""
        return SqlCatalog("lake", uri=f"sqlite:///{self.catalog}").load_table(tuple(name))

    def as_of(self, name: TableName, snapshot: int) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Columns and rows of a table as of a snapshot; PyIceberg and Spark read the same."""
        found = self.table(name).scan(snapshot_id=snapshot).to_arrow()
        rows = sorted((tuple(row.values()) for row in found.to_pylist()), key=repr)
        seen = somebody(self.location).sql(f"SELECT * FROM lake.`{name.schema}`.`{name.name}` VERSION AS OF {snapshot}")
        assert seen.columns == found.column_names
        assert sorted((tuple(row) for row in seen.collect()), key=repr) == rows
        return found.column_names, rows
