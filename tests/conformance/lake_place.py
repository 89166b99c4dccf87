"""A lake as the conformance suite sees it: read by DuckDB, with a reader beside that looks at it all the time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_ddlrepl.model.names import TableName
from tests.conformance.places import Place, Rows
from tests.support.lakes.outsider import somebody
from tests.support.lakes.reader import Beside, pointers, rows_at
from tests.support.lakes.rest import Rest
from tests.support.replica import Replica, channel_file


def iceberg(folder: Path, source: str, beside: list[Beside], server: str = "", /, **more: Any) -> Place:
    """Iceberg has no constraints: a lake has no rule that refuses rows. beside: gets the reader that looks at it.

    server: the URL of the PostgreSQL database that has the catalog; without one it is in a file.
    """
    catalog = f"iceberg{server.removeprefix('postgresql')}" if server else f"iceberg://{folder}/catalog.db"
    location = f"{catalog}?warehouse={folder}/warehouse"
    replica = Replica(source, "", channel_file(folder, source, location, **more))
    looking = Beside(location)
    beside.append(looking)

    def read(name: TableName) -> Rows | None:
        metadata = pointers(location).get(name)
        if metadata is None:
            return None
        if "ddlrepl_views" in metadata:
            return _shown(somebody(location), name)
        columns, rows = rows_at(metadata)
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def write(name: TableName, notes: dict[str, str]) -> None:
        with looking.of_nobody():
            _write(somebody(location), name, notes)

    return Place("iceberg", replica, read, _rule, write, looking.of_nobody)


def iceberg_in_rest(folder: Path, source: str, rest: Rest, /, **more: Any) -> Place:
    """A lake whose catalog a REST server has: what the product stores is not seen at the moment of the tables."""
    location = f"iceberg://{folder}/state.db?warehouse={folder}/warehouse&{rest.settings()}"
    replica = Replica(source, "", channel_file(folder, source, location, **more))

    def read(name: TableName) -> Rows | None:
        if rest.catalog().view_exists(name):
            return _shown(rest.somebody(), name)
        metadata = rest.pointers().get(name)
        if metadata is None:
            return None
        columns, rows = rows_at(metadata)
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def write(name: TableName, notes: dict[str, str]) -> None:
        _write(rest.somebody(), name, notes)

    return Place("iceberg", replica, read, _rule, write)


def _rule(table_id: int, text: str) -> None:
    pytest.skip("a lake refuses no rows")


def _shown(spark: Any, name: TableName) -> Rows:
    """The rows of a view."""
    shown = spark.sql(f"SELECT * FROM lake.`{name.schema}`.`{name.name}`")
    found = [row.asDict().items() for row in shown.collect()]
    return [{key: None if one is None else str(one) for key, one in row} for row in found]


def _write(spark: Any, name: TableName, notes: dict[str, str]) -> None:
    """As another application of Spark does."""
    table = f"lake.`{name.schema}`.`{name.name}`"
    values = ", ".join(f"({key}, '{note}')" for key, note in notes.items())
    spark.sql(f"DELETE FROM {table}")
    spark.sql(f"INSERT INTO {table} VALUES {values}")
