"""This module leaves out the log's rows with a value that the target's columns can't hold (`discard`).

A row that fits again is an insert, one that ceases to fit a delete, as with a row condition.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from airflow_ddlrepl.engines.postgres.merge.evaluate_sql import sql_evaluator
from airflow_ddlrepl.engines.postgres.merge.staging_tables import StagedColumn
from airflow_ddlrepl.engines.postgres.merge.unfit_values import Unfit
from airflow_ddlrepl.engines.postgres.types.misfits import functions, reason, row_texts, texts_of_key
from airflow_ddlrepl.integrate.discarded_row import DiscardedRow
from airflow_ddlrepl.integrate.netting.keys import key_rows, key_values
from airflow_ddlrepl.integrate.netting.migration import migrated
from airflow_ddlrepl.model.position import Position


@dataclass(frozen=True, slots=True)
class Discarding:
    """This is what is left of changes when rows that do not fit are left out.

    settled: keys under which no row waits any more, but for those in `rows`. rows: those that do not fit at the end.
    """

    changes: pa.Table
    settled: tuple[tuple[str, ...], ...] = ()
    rows: tuple[DiscardedRow, ...] = ()


def without_unfit(
    cursor: Callable[[], Any],
    name: str,
    changes: pa.Table,
    table_id: int,
    columns: Sequence[StagedColumn],
    unfit: Unfit,
    known: Collection[tuple[str, ...]],
) -> Discarding:
    """Return the changes of a table's rows that fit, with whole old rows, and the rows that do not.

    cursor: opens one on the target. name: of a staging table to use. columns: of the source, as they are staged.
    known: keys of rows that the target has discarded before.
    """
    looked = [c for c in columns if c.is_key or any(c.id == one.id for one, _ in unfit)]
    new_at, old_at = key_rows(changes)
    rows = pa.table({c.source_name: key_values(changes, c.source_name, new_at, old_at) for c in looked})
    for statement in functions(ours for _, ours in unfit):
        cursor().execute(statement)
    why = reason([ours for _, ours in unfit], [column.text("s") for column, _ in unfit])
    keyed = texts_of_key((c.id, c.text("s")) for c in columns if c.is_key)
    with sql_evaluator(cursor(), name, looked, rows) as ask:
        reasons, keys = (values.to_pylist() for values in ask(f"{why} AS why, {keyed} AS key").columns)
    fits = np.array([not text for text in reasons], bool)
    was, now, new_place = (np.zeros(changes.num_rows, kind) for kind in (bool, bool, np.int64))
    now[new_at], was[old_at], new_place[new_at] = fits[: len(new_at)], fits[len(new_at) :], np.arange(len(new_at))
    settled: set[tuple[str, ...]] = set()
    last: dict[tuple[str, ...], int] = {}
    touching = (place for place, key in enumerate(keys) if not fits[place] or tuple(key) in known)
    for at, place, is_new in _in_order(touching, new_at, old_at):
        key = tuple(keys[place])
        settled.add(key)
        last.pop(key, None)
        if is_new and not fits[place]:
            last[key] = at
    left = changes.take(pa.array([*last.values()], pa.int64()))
    values = _values(cursor(), name, left, columns) if last else []
    found = tuple(
        DiscardedRow(table_id, key, reasons[new_place[at]], row, Position(lsn))
        for (key, at), row, lsn in zip(last.items(), values, left["lsn"].to_pylist(), strict=True)
    )
    return Discarding(migrated(changes, was, now), tuple(sorted(settled)), found)


def _in_order(places: Iterator[int], new_at: Any, old_at: Any) -> list[tuple[int, int, bool]]:
    """Return these places among new rows, then old ones, in log order: the change, the place, is it the new row."""
    many = len(new_at)
    found = [
        (int(new_at[place]), place, True) if place < many else (int(old_at[place - many]), place, False)
        for place in places
    ]
    return sorted(found, key=lambda one: (one[0], one[2]))


def _values(cursor: Any, name: str, rows: pa.Table, columns: Sequence[StagedColumn]) -> list[dict[str, Any]]:
    """Return the text of each value of these rows, by the target's column."""
    whole = pa.table({c.source_name: rows[f"a_{c.source_name}"] for c in columns})
    with sql_evaluator(cursor, name, columns, whole) as ask:
        texts = ask(f"{row_texts([(c.name, c.text('s')) for c in columns])}::text AS r").column(0).to_pylist()
    return [json.loads(text) for text in texts]
