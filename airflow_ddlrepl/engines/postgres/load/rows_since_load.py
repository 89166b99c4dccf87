"""This module finds the rows that somebody has written since a table was loaded, at the source or at the target.

Only these can differ: all others are versions of rows that the load has seen (`target.load_marks`). Whether a row is
missing on one side is seen by the keys of both tables.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from airflow_ddlrepl.engines.differing import DifferingTask
from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.connection.copy import SourceFailed, open_snapshot
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.load.table_rows import NAME, TableRows
from airflow_ddlrepl.engines.postgres.target.load_marks import durable_mark, mark, origin_text, stored_marks
from airflow_ddlrepl.engines.postgres.types.row_hash import is_hashed_by_bytes

log = logging.getLogger("ddlrepl")


def load_mark(task: DifferingTask) -> str:
    """Return the text of the mark of a source's table as a snapshot shows it; empty where there is none."""
    import psycopg

    rows = task.rows
    if not isinstance(rows, TableRows) or not rows.snapshot or not _is_fixed(task):
        return ""
    try:
        with session(rows.dsn, autocommit=False, application_name=NAME) as source:
            open_snapshot(source, rows.snapshot)
            found = durable_mark(source, rows.place, task.since)
            source.rollback()
    except (SourceFailed, psycopg.Error) as error:
        log.info("%s: a later refresh reads all rows: %s", rows.table, " ".join(str(error).split()))
        return ""
    return origin_text(found, _names(task)) if found is not None else ""


def later_versions(task: DifferingTask, source: Connection[Any], target: Connection[Any]) -> tuple[str, str] | None:
    """Return SQL that is true for the versions of rows that no load has seen, at the source and at the target.

    Both sessions have a snapshot open. None: there is no mark, or it does not hold any more.
    """
    rows = task.rows
    if not isinstance(rows, TableRows) or not task.channel or not _is_fixed(task):
        return None
    marks = stored_marks(target, task.channel, task.table_id, _names(task))
    if marks is None:
        return None
    found = [
        before.later(now) if (now := mark(connection, place)) is not None else None
        for before, connection, place in zip(marks, (source, target), (rows.place, task.place), strict=True)
    ]
    return (found[0], found[1]) if found[0] and found[1] else None


def _is_fixed(task: DifferingTask) -> bool:
    """Do the values of all columns follow from the bytes of a row, whatever else changes in the database?"""
    return all(is_hashed_by_bytes(column.type) and not column.generated for pair in task.pairs for column in pair)


def _names(task: DifferingTask) -> Sequence[tuple[str, str]]:
    return [(theirs.name, ours.name) for theirs, ours in task.pairs]
