"""This step leaves out rows with a value that the target's columns can't hold (`coerce_error_policy: discard`).

A row that fits again is an insert, one that ceases to fit a delete, as with a row condition.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.integrate.netting.keys import key_rows, key_values
from airflow_ddlrepl.integrate.netting.migration import migrated
from airflow_ddlrepl.integrate.steps.discarded_row import DiscardedRow
from airflow_ddlrepl.integrate.steps.row_columns import RowColumn
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.ports.row_evaluator import LoggedRows, RowEvaluator

LONGEST = 200
"""A reason with the value in it is cut, so that it stays short."""


@dataclass(frozen=True, slots=True)
class Discarding:
    """This is what is left of changes when rows that do not fit are left out."""

    changes: pa.Table
    settled: tuple[tuple[str, ...], ...] = ()
    """Keys under which no row waits any more, but for those in `rows`."""
    rows: tuple[DiscardedRow, ...] = ()
    """The rows that do not fit at the end."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """The target is asked about values of a table's columns."""

    evaluator: RowEvaluator
    table: Table
    columns: Sequence[RowColumn]

    def _rows(self, values: dict[str, Any]) -> LoggedRows:
        return LoggedRows(pa.table(values), self.table, {column.name: column.encoding for column in self.columns})

    def reasons(self, values: dict[str, Any], unfit: Sequence[RowColumn]) -> pa.Array:
        """Return for each row why it does not fit: each column with its error; an empty text: it fits."""
        found = self.evaluator.misfits(self._rows(values), {column.name: column.target for column in unfit})
        whole: pa.Array | None = None
        for column in unfit:
            why = pc.utf8_slice_codeunits(found[column.name].combine_chunks(), 0, LONGEST)
            told = pc.binary_join_element_wise(f"{column.target.name}: ", why, "")
            more = told if whole is None else pc.binary_join_element_wise(whole, told, "; ", null_handling="skip")
            whole = more if whole is None else pc.if_else(pc.equal(whole, ""), told, more)
            whole = pc.fill_null(whole, "")
        return whole

    def rows_as_text(self, values: dict[str, Any]) -> list[tuple[str, ...]]:
        """Return the texts of each row's values."""
        found = self.evaluator.as_text(self._rows(values))
        return list(zip(*(found[name].to_pylist() for name in values), strict=True))


def without_unfit(
    evaluator: RowEvaluator,
    changes: pa.Table,
    table: Table,
    columns: Sequence[RowColumn],
    unfit: Sequence[RowColumn],
    known: Collection[tuple[str, ...]],
) -> Discarding:
    """Return the changes of a table's rows that fit, with whole old rows, and the rows that do not.

    table: the rows' shape at the source. columns: of the source. unfit: those to look at. known: keys of rows that the
    target has discarded before.
    """
    asked = _Asked(evaluator, table, columns)
    new_at, old_at = key_rows(changes)
    reasons = asked.reasons({c.name: key_values(changes, c.name, new_at, old_at) for c in unfit}, unfit)
    fits = np.asarray(pc.equal(reasons, ""))
    if fits.all() and not known:
        return Discarding(changes)
    by_id = sorted((column for column in columns if column.is_key), key=lambda column: column.id)
    keys = asked.rows_as_text({c.name: key_values(changes, c.name, new_at, old_at) for c in by_id})
    was, now, new_place = (np.zeros(changes.num_rows, kind) for kind in (bool, bool, np.int64))
    now[new_at], was[old_at], new_place[new_at] = fits[: len(new_at)], fits[len(new_at) :], np.arange(len(new_at))
    settled: set[tuple[str, ...]] = set()
    last: dict[tuple[str, ...], int] = {}
    touching = (place for place, key in enumerate(keys) if not fits[place] or key in known)
    for at, place, is_new in _in_order(touching, new_at, old_at):
        settled.add(keys[place])
        last.pop(keys[place], None)
        if is_new and not fits[place]:
            last[keys[place]] = at
    left = changes.take(pa.array([*last.values()], pa.int64()))
    rows = asked.rows_as_text({c.name: left[f"a_{c.name}"] for c in columns}) if last else []
    found = tuple(
        DiscardedRow(table.id, key, reasons[int(new_place[at])].as_py(), _named(columns, row), Position(lsn))
        for (key, at), row, lsn in zip(last.items(), rows, left["lsn"].to_pylist(), strict=True)
    )
    return Discarding(migrated(changes, was, now), tuple(sorted(settled)), found)


def _in_order(places: Iterable[int], new_at: Any, old_at: Any) -> list[tuple[int, int, bool]]:
    """Return these places among new rows, then old ones, in log order: the change, the place, is it the new row."""
    many = len(new_at)
    found = [
        (int(new_at[place]), place, True) if place < many else (int(old_at[place - many]), place, False)
        for place in places
    ]
    return sorted(found, key=lambda one: (one[0], one[2]))


def _named(columns: Sequence[RowColumn], row: Sequence[str | None]) -> dict[str, str | None]:
    return {column.target.name: text for column, text in zip(columns, row, strict=True)}
