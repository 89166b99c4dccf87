"""Kept rows as the source had them: loaded beside a replay's tables first, and read from there by `transform`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from airflow_ddlrepl.engines.target import Loader
from airflow_ddlrepl.errors import CannotAdapt
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table


def beside(shadow: TableName) -> TableName:
    """Where the kept rows of a table lie until they are read."""
    return TableName(shadow.schema, f"{shadow.name}_kept")


def kept_shape(whole: Table, columns: Sequence[str]) -> Table:
    """The source's table with the columns that were kept, which take every row that it had. whole: as it fits there."""

    def plain(column: Column) -> Column:
        return replace(column, nullable=True, default=None, missing=None, identity="", generated="")

    kept = tuple(plain(column) for column in whole.columns if column.name in columns)
    return whole.without_keys().with_(columns=kept, partition=None, partition_key=None)


def require_kept(table: Table, reads: Sequence[str], columns: Sequence[str]) -> None:
    """Raises CannotAdapt REW-103 where a column that a function looks at was not kept."""
    if lacking := [name for name in reads if name not in columns]:
        raise CannotAdapt(
            f"a function of `transform` looks at {', '.join(lacking)}, which the trail has not kept",
            code="REW-103",
            table=table.name,
            hint="leave the column out of `reads` of the entry, or go to a position after a later refresh",
        )


@contextmanager
def tables_beside(loader: Loader, shapes: Mapping[TableName, Table]) -> Iterator[None]:
    """Empty tables for kept rows, by name; gone at the end. Those of a run that fails are swept as shadows are."""
    for name, shape in shapes.items():
        loader.make_shadow(shape, name)
    yield
    if shapes:
        loader.drop(shapes)
