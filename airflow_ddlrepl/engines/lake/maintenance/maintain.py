"""This module maintains one table of a lake: compaction, expiry of snapshots, and removal of files.

What changes the table is staged and flipped as any window. So no file is removed that the table's entry leads to:
files of expired snapshots go with the others that belong to nothing, after the flip.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.engines.abilities.maintenance import Maintained, Thresholds
from airflow_ddlrepl.engines.lake.catalog.pointers import pointers
from airflow_ddlrepl.engines.lake.catalog.window import TARGET_FILE_SIZE, Window, WindowKind
from airflow_ddlrepl.engines.lake.connection.java import iceberg, java_table
from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.engines.lake.merge.refusals import refusals
from airflow_ddlrepl.engines.lake.target.state import hold
from airflow_ddlrepl.engines.target_state import Fence
from airflow_ddlrepl.model.names import TableName

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_ddlrepl.engines.lake.target_port import LakeTarget

ORPHAN_SECONDS = 3 * 24 * 3600
"""A file that belongs to nothing stays so long: somebody else may be about to commit it."""
_SIZE = "write.target-file-size-bytes"


def maintain(target: LakeTarget, name: TableName, thresholds: Thresholds, fence: Fence) -> Maintained:
    """Maintain a table: its own changes become visible in one moment, and then files are removed."""
    with refusals(name):
        window = target.window(f"{WindowKind.MAINTAIN}{fence.token}")
        window.begin()
        done = change(window, name, thresholds)
        with target.writing() as connection:
            hold(connection, target.holder, fence)
            window.flip(connection)
        after = target.window(f"{WindowKind.MAINTAIN}{fence.token}")
        removed = remove_files(after, name)
        after.begin()
    return replace(done, removed=removed)


def change(window: Window, name: TableName, thresholds: Thresholds) -> Maintained:
    """Compact a table in a window, and let its old snapshots expire; those with a tag or in a branch stay."""
    spark, staged = window.spark, window.table(name)
    rewritten, written = _compact(spark, java_table(spark, staged), thresholds)
    table = java_table(spark, staged)
    before = _snapshots(table)
    if _may_expire(table):
        oldest = int((time.time() - thresholds.retain_seconds) * 1000)
        table.expireSnapshots().expireOlderThan(oldest).cleanExpiredFiles(False).commit()
    return Maintained(rewritten, written, expired=before - _snapshots(java_table(spark, staged)))


def remove_files(window: Window, name: TableName) -> int:
    """Remove old files of a table that none of its snapshots and metadata files has; return how many."""
    spark = window.spark
    table = java_table(spark, window.table(name))
    if not _may_expire(table):
        return 0
    oldest = time.time() - ORPHAN_SECONDS
    found = _actions(spark).deleteOrphanFiles(table).olderThan(int(oldest * 1000)).usePrefixListing(True).execute()
    return int(found.orphanFilesCount()) + pointers(location_of(window.location)).remove_old(name, oldest)


def _compact(spark: SparkSession, table: Any, thresholds: Thresholds) -> tuple[int, int]:
    """Rewrite small files, and those with many deleted rows; return how many files there were, and how many are."""
    options = {
        "min-input-files": max(2, thresholds.small_files),
        "delete-ratio-threshold": thresholds.deleted_percent / 100,
        "remove-dangling-deletes": "true",
        "target-file-size-bytes": table.properties().get(_SIZE) or TARGET_FILE_SIZE,
    }
    action = _actions(spark).rewriteDataFiles(table)
    if table.sortOrder().isSorted():
        action = action.sort()
    for key, value in options.items():
        action = action.option(key, str(value))
    done = action.execute()
    return int(done.rewrittenDataFilesCount()), int(done.addedDataFilesCount())


def _actions(spark: SparkSession) -> Any:
    return iceberg(spark).spark.actions.SparkActions.get(spark._jsparkSession)


def _snapshots(table: Any) -> int:
    return int(table.operations().current().snapshots().size())


def _may_expire(table: Any) -> bool:
    """May files of the table be removed? Its owner says no where files of it are used by other tables."""
    return str(table.properties().get("gc.enabled")) != "false"
