"""This module checks that conflicts of a table can be found and resolved as `conflicts` in the channel file says."""

from __future__ import annotations

from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.settings.conflicts import ConflictAnswers
from airflow_ddlrepl.model.settings.table_settings import OwnColumns
from airflow_ddlrepl.model.table import Table


def require_resolvable(source: Table, shape: Table, answers: ConflictAnswers, own: OwnColumns) -> None:
    """Raise Unsupported INT-151 for a table whose conflicts can't be resolved.

    source: the table at the source, with the key by which rows are found; shape: at the target. own: what the
    target's table has beside.
    """
    if source.key is None:
        raise _refused(source, "has no key, by which a row is found", "add a primary key")
    if own.time_key or own.soft_delete is not None or own.discards:
        found = "time_key" if own.time_key else "soft_delete" if own.soft_delete is not None else "discard"
        raise _refused(source, f"has `{found}` in `target_tables`", "write one of both for the table")
    there = {column.id for column in shape.columns if not column.generated}
    names = {column.name for column in source.columns if column.id in there and not column.generated}
    if lacking := [name for name in answers.columns if name not in names]:
        why = f"has no column {lacking[0]} that both the source and the target store"
        raise _refused(
            source, why, "name other columns, or write an entry for this table before the one that it matches"
        )


def _refused(table: Table, why: str, what: str) -> Unsupported:
    hint = f"{what}, or take the table out of the patterns in `tables`"
    return Unsupported(f"`conflicts` is for a table that {why}", code="INT-151", table=table.name, hint=hint)
