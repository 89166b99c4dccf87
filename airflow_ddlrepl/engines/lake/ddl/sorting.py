"""This module says by which columns the rows of a lake's table are sorted in its files, as the channel file wants it.

A row is found by its key wherever it is: so any column may be one of them, also one whose values change.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from airflow_ddlrepl.engines.lake.connection.quoting import qualified, quote
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.notation.arrangement import Arrangement, SortField

DISTRIBUTION = "write.distribution-mode"


def impossible_sort(fields: Sequence[SortField], table: Table) -> Unsupported | None:
    """Return the error of the first field that the table can't be sorted by; None: it can be by all."""
    names = {column.name for column in table.columns}
    if (missing := next((one.column for one in fields if one.column not in names), None)) is None:
        return None
    return Unsupported(
        f"the table can't be sorted by {missing}: the table has no such column",
        code="ADP-196",
        table=table.name,
        hint="write columns that it has in `sort` of the target, or take the table out",
    )


def sort_statement(name: TableName, arrangement: Arrangement) -> str:
    """Return Spark's SQL that has the rows of a table sorted when they are written. name: of the table."""
    return f"ALTER TABLE {qualified(name)} {_order(arrangement)}"


def sorts(statement: str) -> TableName | None:
    """Return the table whose rows a statement of `sort_statement` sorts; None: it is another statement."""
    from sqlglot import tokenize

    words = [one.text for one in tokenize(statement, dialect="spark")]
    return TableName(words[2], words[4]) if words[:2] == ["ALTER", "TABLE"] and words[5] == "WRITE" else None


def _order(arrangement: Arrangement) -> str:
    fields = ", ".join(f"{quote(one.column)} {'DESC' if one.is_descending else 'ASC'}" for one in arrangement.sort)
    spread = "DISTRIBUTED BY PARTITION LOCALLY " if arrangement.partitions else ""
    return f"WRITE {spread}ORDERED BY {fields}"


def evolve_order(java: Any, transaction: Any, fields: Sequence[SortField]) -> None:
    """Have the rows of a table sorted by these fields from now on, in an open transaction; files stay as they are.

    java: the package `org.apache.iceberg`. A table without wanted fields stays sorted as it is.
    """
    table = transaction.table()
    there = [(_column(table, one), one.direction().name() == "DESC") for one in table.sortOrder().fields()]
    if not fields or there == [(one.column, one.is_descending) for one in fields]:
        return
    _sort(java, transaction, fields)
    if not table.spec().isPartitioned():
        transaction.updateProperties().set(DISTRIBUTION, "range").commit()


def forget_columns(java: Any, transaction: Any, columns: Collection[str]) -> None:
    """Sort a table by the other columns, in an open transaction: an order by one that goes could not be read again."""
    table = transaction.table()
    fields = list(table.sortOrder().fields())
    if not any(_column(table, one) in columns for one in fields):
        return
    stays = [one for one in fields if one.transform().isIdentity() and _column(table, one) not in columns]
    _sort(java, transaction, [SortField(_column(table, one), one.direction().name() == "DESC") for one in stays])


def _column(table: Any, field: Any) -> str:
    name: str = table.schema().findColumnName(field.sourceId())
    return name if field.transform().isIdentity() else f"{field.transform()}({name})"


def _sort(java: Any, transaction: Any, fields: Sequence[SortField]) -> None:
    order, nulls = transaction.replaceSortOrder().caseSensitive(True), java.NullOrder
    for one in fields:
        column = java.expressions.Expressions.ref(one.column)
        order.desc(column, nulls.NULLS_LAST) if one.is_descending else order.asc(column, nulls.NULLS_FIRST)
    order.commit()
