"""This module says what it means that DuckDB refuses rows of a table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow_ddlrepl.engines.duckdb.connection.database import passing
from airflow_ddlrepl.errors import RowsRefused
from airflow_ddlrepl.model.names import TableName


@contextmanager
def refusals(name: TableName, location: str = "") -> Iterator[None]:
    """Raise an error that says where and what to do, for what DuckDB refuses of a table's rows inside the `with`.

    location: of the file, where files beside it are written.
    """
    import duckdb

    try:
        yield
    except (duckdb.Error, OSError) as error:
        if (known := passing(error, location)) is not None:
            raise known.about(table=name) from None
        raise RowsRefused(
            f"the target refuses rows: {' '.join(str(error).split())}",
            code="INT-105",
            table=name,
            hint="was the target's table changed by hand? ddlrepl compare CHANNEL.yaml --repair restores it; where a"
            " column has another type: ddlrepl refresh CHANNEL.yaml --table schema.table",
        ) from None
