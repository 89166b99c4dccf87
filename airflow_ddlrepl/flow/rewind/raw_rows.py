"""Raw rows are archived rows as the source had them: loaded beside a rewind's tables, and read there by `transform`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from airflow_ddlrepl.engines.abilities.rewinds import RereadsRows
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.engines.target import Loader
from airflow_ddlrepl.errors import CannotRewind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table


def raw_table(shadow: TableName) -> TableName:
    """Return the name of the table that holds the raw rows of a table until they are read."""
    return TableName(shadow.schema, f"{shadow.name}_kept")


def raw_shape(whole: Table, columns: Sequence[str]) -> Table:
    """Return the source's table with the columns that were archived, which take every row that it had.

    whole: the source's table as it fits the place of the rewind.
    """

    def plain(column: Column) -> Column:
        return replace(column, nullable=True, default=None, missing=None, identity="", generated="")

    archived = tuple(plain(column) for column in whole.columns if column.name in columns)
    return whole.without_keys().with_(columns=archived, partition=None, partition_key=None)


def require_archived(table: Table, reads: Sequence[str], columns: Sequence[str]) -> None:
    """Raise CannotRewind REW-103 where a column that a function looks at was not archived."""
    if lacking := [name for name in reads if name not in columns]:
        raise CannotRewind(
            f"a function of `transform` reads {', '.join(lacking)}, which the trail does not contain",
            code="REW-103",
            table=table.name,
            hint="leave the column out of `reads` of the entry, or go to a position after a later refresh",
        )


@contextmanager
def raw_tables(loader: Loader, shapes: Mapping[TableName, Table]) -> Iterator[None]:
    """Create empty tables for raw rows, by name, and drop them at the end.

    Those of a run that fails are swept as shadows are.
    """
    for name, shape in shapes.items():
        loader.make_shadow(shape, name)
    yield
    if shapes:
        able(loader, RereadsRows).drop(shapes)
