"""This module says by which fields a table of a lake is partitioned, as the channel file wants it.

A field is of a column of the key: rows are found by their key, and one whose value changed would have to be looked for
in every partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_ddlrepl.engines.held_types.type_names import decimal_size
from airflow_ddlrepl.engines.lake.connection.quoting import quote
from airflow_ddlrepl.engines.lake.types.physical import columns_sql
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.notation.arrangement import PartitionField

_WORDS = {"years": "year", "months": "month", "days": "day", "hours": "hour"}
"""What metadata calls the transforms that the file, as Spark's SQL, names in the plural."""
_TIMES = ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ")
_TAKEN = {
    "": ("INT", "BIGINT", "STRING", "BOOLEAN", "BINARY", *_TIMES),
    "bucket": ("INT", "BIGINT", "STRING", "BINARY", *_TIMES),
    "truncate": ("INT", "BIGINT", "STRING", "BINARY"),
    "hours": ("TIMESTAMP", "TIMESTAMP_NTZ"),
    **dict.fromkeys(("years", "months", "days"), _TIMES),
}
"""Of which types a lake holds columns that a transform takes; all but those of time take decimals."""

BY_PARTITION = {"write.distribution-mode": "hash", "write.merge.distribution-mode": "hash"}
"""Properties of tables with partitions: a task writes those of its own, else all tasks write files of all."""


def impossible_partition(fields: Sequence[PartitionField], table: Table) -> Unsupported | None:
    """Return the error of the first field that the table can't be partitioned by; None: it can be by all."""
    key, types = {column.name for column in table.key_columns()}, columns_sql(table)
    for field in fields:
        held = types.get(field.column)
        if held is None:
            why = "the table has no such column"
        elif field.column not in key:
            why = "its values may change: it is no part of the key"
        elif held not in _TAKEN[field.transform] and (decimal_size(held) is None or field.transform in _WORDS):
            why = f"{field.transform or 'a partition'} takes no values of type {held}"
        else:
            continue
        return Unsupported(
            f"the table can't be partitioned by {field.column}: {why}",
            code="ADP-196",
            table=table.name,
            hint="write columns of its primary key in `partitions` of the target, or take the table out",
        )
    return None


def partitioned_by(fields: Sequence[PartitionField]) -> str:
    """Return the fields in Spark's SQL."""
    return ", ".join(_sql(field) for field in fields)


def _sql(field: PartitionField) -> str:
    column = quote(field.column)
    number = f"{field.number}, " if field.number else ""
    return f"{field.transform}({number}{column})" if field.transform else column


def evolve_partitions(java: Any, transaction: Any, fields: Sequence[PartitionField]) -> None:
    """Partition a table by these fields, in an open transaction; files that it has stay as they are.

    java: the package `org.apache.iceberg`. A table without wanted fields stays partitioned as it is.
    """
    table = transaction.table()
    there = {
        (table.schema().findColumnName(field.sourceId()), field.transform().toString()): field.name()
        for field in table.spec().fields()
    }
    wanted = {(field.column, _metadata_name(field)): field for field in fields}
    if not fields or there.keys() == wanted.keys():
        return
    spread = transaction.updateProperties()
    for key, value in BY_PARTITION.items():
        spread.set(key, value)
    spread.commit()
    update, terms = transaction.updateSpec().caseSensitive(True), java.expressions.Expressions
    for one in there.keys() - wanted.keys():
        update.removeField(there[one])
    for one, field in wanted.items():
        if one not in there:
            term = _WORDS.get(field.transform, field.transform) or "ref"
            call = getattr(terms, term)
            update.addField(call(field.column, field.number) if field.number else call(field.column))
    update.commit()


def _metadata_name(field: PartitionField) -> str:
    if field.number:
        return f"{field.transform}[{field.number}]"
    return _WORDS.get(field.transform, "identity")
