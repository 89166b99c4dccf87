"""This module preserves columns that only the lake's table has, when it is loaded again.

They are those that people added, and those of the channel that the source does not have any more. Their values stay,
by key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_ddlrepl.engines.lake.connection.quoting import quote
from airflow_ddlrepl.engines.target_state import Placing
from airflow_ddlrepl.errors import CannotAdapt
from airflow_ddlrepl.model.names import TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class TargetOnly:
    """These are the columns of a table that only the target has; all names are as the loaded table has them."""

    added: Mapping[str, str] = field(default_factory=dict)
    """Those that people added, with Spark's name of the type of each."""
    before: Mapping[str, str] = field(default_factory=dict)
    """What each of these columns, with those of the channel that the source has no more, is called in the old table."""
    key: Mapping[str, str] = field(default_factory=dict)
    """What each column of the key is called there."""


def target_only(spark: SparkSession, previous: str | None, placing: Placing) -> TargetOnly:
    """Return the columns that stay with their values. previous: the quoted name of the table that is there.

    Raises CannotAdapt ADP-105 where a new column of the source has the name of one that people added, ADP-132 where
    values would be lost, because there is no key to find them by.
    """
    if previous is None:
        return TargetOnly()
    shape, recorded = placing.state.shape, placing.recorded
    there = dict(spark.table(previous).dtypes)
    known = {column.name for column in recorded.columns} if recorded else {*there}
    if clash := next((c.name for c in shape.columns if c.name in there and c.name not in known), None):
        raise CannotAdapt(
            f"the target table has a column {clash} of its own",
            code="ADP-105",
            table=placing.state.name,
            hint="rename or drop that column at the target",
        )
    ids = {column.id: column.name for column in recorded.columns} if recorded else {}
    names = {column.name: ids.get(column.id, column.name) for column in shape.columns}
    added = {name: of for name, of in there.items() if name not in known and name not in names}
    kept = {name: names[name] for name in placing.keeps if names[name] in there}
    before = {**kept, **{name: name for name in added}}
    key = {column.name: names[column.name] for column in shape.key_columns()}
    if before and not (key and all(name in there for name in key.values())):
        _refuse_lost(spark, previous, before, placing.state.name)
        before = {}
    return TargetOnly(added, before, key)


def copy_values(spark: SparkSession, previous: str, table: str, own: TargetOnly) -> None:
    """Give a loaded table the columns, with the values that the rows of the old one have. All names are quoted."""
    for name, of in own.added.items():
        spark.sql(f"ALTER TABLE {table} ADD COLUMN {quote(name)} {of}")
    if own.before:
        same = " AND ".join(
            f"ddlrepl_new.{quote(name)} = ddlrepl_old.{quote(before)}" for name, before in own.key.items()
        )
        sets = ", ".join(
            f"ddlrepl_new.{quote(name)} = ddlrepl_old.{quote(before)}" for name, before in own.before.items()
        )
        spark.sql(
            f"MERGE INTO {table} AS ddlrepl_new USING {previous} AS ddlrepl_old ON {same}"
            f" WHEN MATCHED THEN UPDATE SET {sets}"
        )


def _refuse_lost(spark: SparkSession, previous: str, before: Mapping[str, str], table: TableName) -> None:
    filled = " OR ".join(f"{quote(name)} IS NOT NULL" for name in before.values())
    if spark.sql(f"SELECT 1 FROM {previous} WHERE {filled} LIMIT 1").collect():
        raise CannotAdapt(
            "the target's table has columns of its own, and no key by which their values could be preserved:"
            f" {next(iter(before))}",
            code="ADP-132",
            table=table,
            hint="move those columns to a table beside it, or drop them, and run again",
        )
