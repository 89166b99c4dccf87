"""This module names a lake's tables as OpenLineage names files, and as its Spark integration names tables."""

from __future__ import annotations

from urllib.parse import urlsplit

from airflow_ddlrepl.engines.lake.catalog.metadata import table_folder
from airflow_ddlrepl.engines.lake.catalog.pointers import pointer
from airflow_ddlrepl.engines.lake.connection.database import is_there, reading
from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.model.names import TableName


def datasets(location: str, table: TableName) -> list[tuple[str, str]]:
    """Return namespace and name of a table's folder, and of the table in its warehouse; of a missing one the latter."""
    place = location_of(location)
    store, folder = _named(place.warehouse)
    in_warehouse = (f"file://{folder}" if store == "file" else f"{store}/{folder}", str(table))
    if not is_there(location):
        return [in_warehouse]
    with reading(location) as connection:
        metadata = pointer(connection, place, table)
    return [in_warehouse] if metadata is None else [_named(table_folder(metadata, place.files)), in_warehouse]


def _named(folder: str) -> tuple[str, str]:
    """Return the namespace of a folder's store, and the folder's name there."""
    parts = urlsplit(folder)
    if parts.scheme in ("", "file"):
        return "file", parts.path
    return f"{parts.scheme}://{parts.netloc}", parts.path.lstrip("/")
