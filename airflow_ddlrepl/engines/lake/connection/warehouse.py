"""This module sees whether the warehouse of a lake takes files, and says what it means that it does not."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from airflow_ddlrepl.engines.lake.connection.files import is_of_store, store_refusal
from airflow_ddlrepl.engines.lake.connection.location import Location
from airflow_ddlrepl.engines.lake.connection.sql_errors import FULL, disk_full
from airflow_ddlrepl.errors import RowsRefused, TableReplaced, Unreachable
from airflow_ddlrepl.model.names import TableName


def require_writable(place: Location) -> None:
    """Write a file to the warehouse, and remove it. Raises Unreachable CON-101 and CON-123, DiskFull DSK-103."""
    path = f"{place.staging_folder}/probe_{secrets.token_hex(4)}"
    with file_refusals():
        with place.files.creating(path) as file:
            file.write(b"probe")
        place.files.remove(path)


@contextmanager
def file_refusals(name: TableName | None = None) -> Iterator[None]:
    """Raise an error that says what to do, for a warehouse that takes no files inside the `with`. name: its table."""
    try:
        yield
    except (RowsRefused, TableReplaced, Unreachable) as error:
        raise error.about(table=name) from None
    except Exception as error:
        if is_of_store(error):
            raise store_refusal(error).about(table=name) from None
        if not isinstance(error, OSError):
            raise
        said = " ".join(str(error).split())
        if error.errno in FULL:
            raise disk_full(said).about(table=name) from None
        raise Unreachable(
            f"the warehouse of a lake takes no files: {said}",
            code="CON-101",
            table=name,
            hint="see that every worker sees the folder, and that this user may write there",
        ) from None
