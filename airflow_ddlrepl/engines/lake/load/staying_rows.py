"""This module leaves rows of a table where they are when it is loaded again, and removes those that the load brings.

All rows of a history stay, deleted ones, and those that a condition (`refresh` of `restrict`) or a mask (`-md`) leaves.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from airflow_ddlrepl.ddl.base.edit import free_name
from airflow_ddlrepl.engines.lake.catalog.window import Window
from airflow_ddlrepl.engines.lake.connection.java import iceberg
from airflow_ddlrepl.engines.lake.connection.quoting import quote
from airflow_ddlrepl.engines.lake.ddl.run import run
from airflow_ddlrepl.engines.lake.ddl.sorting import forget_columns
from airflow_ddlrepl.engines.lake.load.layout import Layout
from airflow_ddlrepl.engines.lake.load.shadow import Shadow
from airflow_ddlrepl.engines.lake.merge.retained_rows import RETAINED
from airflow_ddlrepl.engines.lake.merge.spark_conditions import within
from airflow_ddlrepl.engines.lake.merge.staged_files import read
from airflow_ddlrepl.engines.lake.types.conversions import converted
from airflow_ddlrepl.engines.lake.types.physical import columns_sql
from airflow_ddlrepl.engines.target_state import Placing
from airflow_ddlrepl.errors import CannotAdapt
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.target_columns import deletion_column, deletion_columns, history_columns
from airflow_ddlrepl.notation.refresh_options import Difference

log = logging.getLogger("ddlrepl")
_THERE = "ddlrepl_there"


def rows_stay(placing: Placing) -> bool:
    """Do rows of the old table stay? Raises CannotAdapt ADP-140 for rows that are not to be inserted or updated."""
    mask, shape, recorded = placing.options.mask, placing.state.shape, placing.recorded
    if mask - {Difference.DELETE} or (mask and shape.key is None):
        raise CannotAdapt(
            "a lake can't leave out inserts or updates of a load, nor rows of a table without a key (`-m`)",
            code="ADP-140",
            table=placing.state.name,
            hint="nothing was changed; `ddlrepl refresh --table` with this table (of the source) loads it in bulk",
        )
    if recorded is None:
        return False
    stays = [history_columns(shape) and history_columns(recorded), deletion_column(shape) and deletion_column(recorded)]
    return any(stays) or placing.limit is not None or bool(mask)


@dataclass(frozen=True, slots=True)
class OldValues:
    """Old values are what rows that stay have in columns whose types change, by the columns' new names.

    asides: the name of the column that has them. converted: Spark's SQL for them as values of the new type, where that
    is certain: then the columns of `asides` go.
    """

    asides: Mapping[str, str]
    converted: Mapping[str, str]


def old_values(placing: Placing, wanted: Layout, there: Collection[str]) -> OldValues:
    """Return the old values of rows that stay. there: the names of the table's columns now.

    What can't be converted a history has in a column of another name. Raises CannotAdapt ADP-140 where rows stay that
    are not of a history: they would have no value where the source has one.
    """
    before = {column.id: column for column in placing.recorded.columns} if placing.recorded else {}
    shape = placing.state.shape
    taken, asides, converting = {*there, *(one.name for one in shape.columns)}, dict[str, str](), dict[str, str]()
    for column in shape.columns:
        old = before.get(column.id)
        if old is None or column.name not in wanted.added:
            continue
        aside = free_name(f"{old.name}_kept", {*taken, *asides.values()})
        asides[column.name] = aside
        if sql := converted(quote(aside), old.type, column.type):
            converting[column.name] = sql
        elif history_columns(shape) is not None:
            log.warning("%s: earlier changes have the values of %s in %s", placing.state.name, old.name, aside)
        else:
            raise CannotAdapt(
                f"rows of the table stay when it is loaded, and a lake can't give column {old.name} another type there",
                code="ADP-140",
                table=placing.state.name,
                hint="nothing was changed: take the table out of `target_tables` or `restrict` for one load, or leave"
                " the type of the column as it is (`types` in `target_tables`)",
            )
    return OldValues(asides, converting)


def with_old_values(placing: Placing, wanted: Layout, values: OldValues) -> Layout:
    """Return a layout by which the columns with old values stay, under their other names."""
    before = {column.id: column.name for column in placing.recorded.columns} if placing.recorded else {}
    names = {
        before[one.id]: values.asides[one.name] for one in placing.state.shape.columns if one.name in values.asides
    }
    dropped = [name for name in wanted.dropped if name not in names]
    return replace(wanted, renamed={**wanted.renamed, **names}, dropped=dropped)


@dataclass(frozen=True, slots=True)
class StayingRows:
    """These are the rows of a table, which has the columns of the load already. shadow: of the load."""

    window: Window
    name: TableName
    placing: Placing
    shadow: Shadow

    def convert(self, values: OldValues) -> None:
        """Give columns of another type the old values, and drop the columns that have these."""
        if not values.converted:
            return
        table = self.window.table(self.name)
        sets = ", ".join(f"{quote(name)} = {sql}" for name, sql in values.converted.items())
        self._execute(f"UPDATE {table} SET {sets}")
        transaction, gone = self.window.transaction(self.name), [values.asides[name] for name in values.converted]
        forget_columns(iceberg(self.window.spark), transaction, gone)
        update = transaction.updateSchema().caseSensitive(True)
        for name in gone:
            update.deleteColumn(name)
        update.commit()

    def make_room(self) -> int:
        """Remove the rows that do not stay, and mark deleted ones; return how many a mask leaves."""
        shape, table = self.placing.state.shape, self.window.table(self.name)
        if (history := history_columns(shape)) is not None:
            self._execute(f"DELETE FROM {table} WHERE {quote(history.operation)} IS NULL")  # from before it was one
            key, now = LogKey(self.placing.at or Position(0), -1), round(datetime.now(UTC).timestamp() * 1_000_000)
            run(self.window, RETAINED.note_truncate(shape, self.name, (key, now, None)))
            return 0
        if self.placing.limit is not None:
            self._execute(f"DELETE FROM {table} WHERE {within(self.placing.limit, shape)}")
        if (deletion := deletion_columns(shape)) is not None:
            flag, at = (quote(one) if one else "" for one in deletion)
            marks = f"UPDATE SET {flag} = true{f', {at} = now()' if at else ''}"
            if self.shadow.chunks:
                self._of_loaded_keys(f"WHEN NOT MATCHED BY SOURCE AND NOT {_THERE}.{flag} THEN {marks}")
            else:
                self._execute(f"{marks.replace('UPDATE', f'UPDATE {table}', 1)} WHERE NOT {flag}")
        self._of_loaded_keys("WHEN MATCHED THEN DELETE")
        return self._count() if self.placing.options.mask else 0

    def _of_loaded_keys(self, clause: str) -> None:
        """Run a MERGE of the keys that the load brings."""
        if not self.shadow.chunks:
            return
        spark, shape = self.window.spark, self.placing.state.shape
        types, key = columns_sql(shape), [column.name for column in shape.key_columns()]
        is_read = self.shadow.files.is_read_by_spark
        paths = self.shadow.chunks if is_read else self.shadow.without_ids(key)
        rows = read(spark, self.window.table(self.name), paths, {name: types[name] for name in key})
        view = f"ddlrepl_loaded_{self.placing.shadow.name}"
        rows.createOrReplaceTempView(view)
        same = " AND ".join(f"{_THERE}.{quote(name)} = s.{quote(name)}" for name in key)
        try:
            self._execute(f"MERGE INTO {self.window.table(self.name)} AS {_THERE} USING {view} AS s ON {same} {clause}")
        finally:
            spark.catalog.dropTempView(view)

    def _count(self) -> int:
        return int(self.window.spark.sql(f"SELECT count(*) FROM {self.window.table(self.name)}").collect()[0][0])

    def _execute(self, statement: str) -> None:
        self.window.spark.sql(statement)
