"""This module puts loaded rows in the place of a table's rows, in a window.

The table stays what it is to readers: its columns change by identity, and its rows are replaced in the commit that adds
the files of the load, so its earlier snapshots can be read as before. A table is made only where there is none.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from airflow_ddlrepl.engines.lake.catalog.metadata import columns_there, partitioned_columns
from airflow_ddlrepl.engines.lake.catalog.window import Window
from airflow_ddlrepl.engines.lake.connection.java import iceberg, iceberg_type, java_table
from airflow_ddlrepl.engines.lake.connection.quoting import quote
from airflow_ddlrepl.engines.lake.ddl.arrangement import arrange, is_arranged, possible, require_possible
from airflow_ddlrepl.engines.lake.ddl.partitions import BY_PARTITION, partitioned_by
from airflow_ddlrepl.engines.lake.ddl.render import definitions
from airflow_ddlrepl.engines.lake.ddl.sorting import forget_columns
from airflow_ddlrepl.engines.lake.load.layout import Layout, layout, new_layout
from airflow_ddlrepl.engines.lake.load.shadow import Shadow
from airflow_ddlrepl.engines.lake.load.staying_rows import StayingRows, old_values, rows_stay, with_old_values
from airflow_ddlrepl.engines.lake.load.target_only_columns import copy_values, has_values
from airflow_ddlrepl.engines.lake.merge.staged_files import read
from airflow_ddlrepl.engines.lake.types.arrow import parquet_schema
from airflow_ddlrepl.engines.target_state import Placing
from airflow_ddlrepl.engines.transactional.target_only_columns import target_only
from airflow_ddlrepl.errors import CannotAdapt, TargetError
from airflow_ddlrepl.notation.arrangement import NOT_ARRANGED, Arrangement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def place(window: Window, placing: Placing, shadow: Shadow, arrangement: Arrangement = NOT_ARRANGED) -> int:
    """Replace the rows of a table by those of a shadow; return how many stay though the source does not have them.

    By key its rows keep what only the target has of them. arrangement: of the rows; a table that is there, and can't
    have it any more, stays as it is. Raises CannotAdapt ADP-104 where another table has its name, ADP-140, and what
    `target_only` does, TargetError TGT-120 where files of the load are missing.
    """
    name, shape = placing.state.name, placing.state.shape
    count = sum(_row_count(shadow, one) for one in shadow.chunks) + len(shadow.discarded)
    if count != placing.rows:
        raise _not_all(placing, count)
    some_stay = rows_stay(placing)
    previous = placing.previous if placing.previous and window.has(placing.previous) else None
    if previous != name and window.has(name):
        raise CannotAdapt(
            f"another table has the name {name}",
            code="ADP-104",
            table=name,
            hint="rename or drop that table at the target",
        )
    if previous is None:
        _make(window, placing, shadow, arrangement)
        return 0
    table, spark = window.table(previous), window.spark
    metadata = window.metadata(previous)
    there = columns_there(metadata, shadow.files)
    own = target_only(there, placing, partial(has_values, spark, table))
    before = java_table(spark, table).currentSnapshot()
    wanted, left = layout(metadata, shadow.files, placing.recorded, shape, own.added), 0
    if partitioned_columns(metadata, shadow.files) & set(wanted.dropped):
        if some_stay or own.before:
            raise _can_not_stay(placing)
        window.drop(previous)
        _make(window, placing, shadow, arrangement)
        return 0
    arrangement = possible(arrangement, shape.with_(name=name))
    if previous != name:
        window.rename(previous, name)
    if some_stay and before is not None:
        left = _add(window, placing, wanted, there, shadow, arrangement)
    else:
        _replace(spark, table, wanted, shadow, arrangement)
    if before is not None:
        copy_values(spark, table, before.snapshotId(), own)
    return left


def _make(window: Window, placing: Placing, shadow: Shadow, arrangement: Arrangement) -> None:
    """Make a new table with the rows of a shadow."""
    name, shape = placing.state.name, placing.state.shape
    require_possible(arrangement, shape)
    fields = arrangement.partitions
    window.create(name, definitions(shape), partitioned_by(fields), BY_PARTITION if fields else {})
    _replace(window.spark, window.table(name), new_layout(shape), shadow, arrangement)


def _add(
    window: Window,
    placing: Placing,
    wanted: Layout,
    there: Collection[str],
    shadow: Shadow,
    arrangement: Arrangement,
) -> int:
    """Change a table's columns, make room for the rows of a load, and add these; return how many a mask leaves.

    there: the names of its columns now.
    """
    name, spark, values = placing.state.name, window.spark, old_values(placing, wanted, there)
    if wanted.ids != shadow.ids:
        _renumber(shadow, wanted)
    transaction = java_table(spark, window.table(name)).newTransaction()
    _alter(spark, transaction, with_old_values(placing, wanted, values), arrangement)
    transaction.commitTransaction()
    staying = StayingRows(window, name, placing, shadow)
    staying.convert(values)
    left = staying.make_room()
    if shadow.chunks:
        table = java_table(spark, window.table(name))
        if is_arranged(table):
            _insert(spark, window.table(name), shadow, "INTO")
            return left
        append = table.newAppend()
        _add_files(spark, table, append.appendFile, shadow)
        append.commit()
    return left


def _replace(spark: SparkSession, table: str, wanted: Layout, shadow: Shadow, arrangement: Arrangement) -> None:
    """Change a table's columns, and replace its rows, in one commit. table: its quoted name.

    Rows of a table with partitions or an order are a second commit: Spark reads the files, and writes them arranged.
    """
    if wanted.ids != shadow.ids:  # somebody has changed the table since the load began
        _renumber(shadow, wanted)
    transaction = java_table(spark, table).newTransaction()
    _alter(spark, transaction, wanted, arrangement)
    by_spark = is_arranged(transaction.table())
    if not by_spark:
        _overwrite(spark, transaction, shadow)
    transaction.commitTransaction()
    if by_spark and shadow.chunks:
        _insert(spark, table, shadow, "OVERWRITE")
    elif by_spark:
        java_table(spark, table).newDelete().deleteFromRowFilter(_everything(spark)).commit()


def _insert(spark: SparkSession, table: str, shadow: Shadow, how: str) -> None:
    """Have Spark read a shadow's rows and write them into a table. how: `INTO` it, or `OVERWRITE` it whole."""
    names = shadow.columns
    paths = shadow.chunks if shadow.files.is_read_by_spark else shadow.without_ids(names)
    rows = read(spark, table, paths, {name: shadow.types[name] for name in names})
    there = dict(spark.table(table).dtypes)
    values = (quote(name) if name in names else f"CAST(NULL AS {of}) AS {quote(name)}" for name, of in there.items())
    view = f"ddlrepl_{uuid.uuid4().hex}"
    rows.createOrReplaceTempView(view)
    try:
        spark.sql(f"INSERT {how} TABLE {table} SELECT {', '.join(values)} FROM {view}")
    finally:
        spark.catalog.dropTempView(view)


def _everything(spark: SparkSession) -> Any:
    return iceberg(spark).expressions.Expressions.alwaysTrue()


def _alter(spark: SparkSession, transaction: Any, wanted: Layout, arrangement: Arrangement) -> None:
    """Change the columns of a table and the arrangement of its rows, in an open transaction."""
    forget_columns(iceberg(spark), transaction, wanted.dropped)
    if wanted.dropped or wanted.renamed or wanted.widened:
        update = transaction.updateSchema().caseSensitive(True)
        for name in wanted.dropped:
            update.deleteColumn(name)
        for name, of in wanted.widened.items():
            update.updateColumn(name, iceberg_type(spark, of).asPrimitiveType())
        for old, new in wanted.renamed.items():
            update.renameColumn(old, new)
        update.commit()
    if wanted.added:  # in a second step, as another column may have had the name
        update, before = transaction.updateSchema().caseSensitive(True), ""
        for name in wanted.ids:
            if name in wanted.added:
                update.addColumn(None, name, iceberg_type(spark, wanted.added[name]))
                update.moveAfter(name, before) if before else update.moveFirst(name)
            before = name
        update.commit()
    arrange(iceberg(spark), transaction, arrangement)


def _overwrite(spark: SparkSession, transaction: Any, shadow: Shadow) -> None:
    """Replace all rows by files."""
    table = transaction.table()
    if not shadow.chunks and table.currentSnapshot() is None:
        return
    overwrite = transaction.newOverwrite().overwriteByRowFilter(_everything(spark))
    _add_files(spark, table, overwrite.addFile, shadow)
    overwrite.commit()


def _add_files(spark: SparkSession, table: Any, add: Callable[[Any], Any], shadow: Shadow) -> None:
    """Add files to a change of a table, under second names: a run that is killed leaves the shadow whole."""
    java, places = iceberg(spark), table.locationProvider()
    metrics, load = java.MetricsConfig.forTable(table), secrets.token_hex(4)
    for number, chunk in enumerate(shadow.chunks):
        path = places.newDataLocation(f"load-{load}-{number:05}.parquet")
        shadow.files.copy(chunk, path)
        file = table.io().newInputFile(path)
        measured = java.parquet.ParquetUtil.fileMetrics(file, metrics)
        add(
            java.DataFiles.builder(table.spec()).withInputFile(file).withMetrics(measured).withFormat("PARQUET").build()
        )


def _renumber(shadow: Shadow, wanted: Layout) -> None:
    """Write the files of a shadow again with other ids of columns."""
    for chunk in shadow.chunks:
        with shadow.files.open(chunk) as old, pq.ParquetFile(old) as file, shadow.files.creating(chunk) as new:
            types = {name: shadow.types[name] for name in file.schema_arrow.names}
            schema = parquet_schema(types, wanted.ids)
            with pq.ParquetWriter(new, schema, compression="zstd", store_schema=False) as writer:
                for rows in file.iter_batches():
                    writer.write_batch(pa.RecordBatch.from_arrays(rows.columns, schema=schema))


def _row_count(shadow: Shadow, chunk: str) -> int:
    with shadow.files.open(chunk) as file:
        count: int = pq.read_metadata(file).num_rows
    return count


def _can_not_stay(placing: Placing) -> CannotAdapt:
    return CannotAdapt(
        "a column goes by which the table is partitioned, so it is to be made again; rows or values of it have to stay",
        code="ADP-174",
        table=placing.state.name,
        hint="copy what only the target has to a table beside it, drop the table there, and load it again",
    )


def _not_all(placing: Placing, count: int) -> TargetError:
    return TargetError(
        f"{placing.rows} rows were loaded, and {count} are there to be put in their place",
        code="TGT-120",
        table=placing.state.name,
        hint="the warehouse must be a folder that all workers see (docs/lakehouse.md); the table is as it was",
        retryable=True,
    )
