"""This module nets a section of the log: it computes for each row of the target what all changes do to it together.

Applying the result in the order deletes, moves (taken out), updates, moves (put back), inserts gives exactly
what applying the changes one after the other gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.integrate.netting.equality import Ints, KeyColumn
from airflow_ddlrepl.integrate.netting.images import require_distinct
from airflow_ddlrepl.integrate.netting.keys import KeyIds, key_ids
from airflow_ddlrepl.integrate.netting.moves import Fate, Follower, Kind
from airflow_ddlrepl.integrate.netting.presence import Flags, absent_columns, with_whole_keys
from airflow_ddlrepl.model.change import Op
from airflow_ddlrepl.ports.types import Equality

NOTHING = pa.table({})
"""No rows."""


@dataclass(frozen=True, slots=True)
class NetRows:
    """Net rows are one table of rows per kind of operation; the table has no columns where there are no such rows.

    A DELETE and INSERT of one key is an update of every column. Rows that came and went are in none.
    """

    deletes: pa.Table
    """`b_<key column>`: the keys of rows that are gone."""
    updates: pa.Table
    """`a_<column>`, found by their `a_` key, and `h_<column>` (bool) for columns that some row does not change."""
    moves: pa.Table
    """Rows whose key changes: `b_` key before, `a_` columns, `h_`."""
    inserts: pa.Table
    """`a_<column>`."""
    removed: pa.Table = field(default_factory=lambda: NOTHING)
    """Of a table without a key: whole rows that are gone (`a_`), and `copies`: how many of each."""
    added: pa.Table = field(default_factory=lambda: NOTHING)
    """Of a table without a key: whole rows that came (`a_`), and `copies`."""


NO_ROWS = NetRows(NOTHING, NOTHING, NOTHING, NOTHING)


@dataclass(frozen=True, slots=True)
class Netting:
    """These are ways in which changes are netted that not every target needs."""

    distinct: bool = False
    """Does the source not see to it that its rows differ in this key?"""
    resilient: bool = False
    """May any row be there already or be missing?

    Each key that the changes name is in the result, with its last row or as one that is gone; changes must have their
    whole rows, old and new.
    """
    old: Sequence[str] | None = None
    """Columns whose values before all changes are wanted, too, as `b_<column>`; None: none are. Resilient ones only.

    With them come `was_there`, and the place of the last change as `lsn`.
    """


@dataclass(frozen=True, slots=True)
class _Rows:
    """Net rows are places in the log: base key, newest change, and per sometimes absent column where its value is.

    first: the change that has the row's old values as they were before all of them; none for a row that a key update
    touches. is_old: was the row there before?
    """

    base: Ints
    last: Ints
    value_at: dict[str, Ints]
    first: Ints
    is_old: Flags


def net(
    changes: pa.Table,
    layout: Sequence[str],
    key: Sequence[KeyColumn],
    columns: Sequence[str] | None = None,
    ids: KeyIds | None = None,
    how: Netting = Netting(),
) -> NetRows:
    """Return the net change of one table's rows by key; the rows are in log order, in the row-file schema.

    layout: every column in the order of the `absent` bitmap. columns: those wanted (default: all).
    ids: the keys as the target numbered them.
    Raises NeedsTargetKeys when ids are needed and missing, SameKey.
    """
    wanted = list(layout if columns is None else columns)
    if how == Netting() and (plain := _as_they_are(changes, key, wanted)) is not None:
        return plain
    absent = absent_columns(changes["absent"], layout)
    changes = with_whole_keys(changes, [c.name for c in key], absent)
    ids = key_ids(changes, key) if ids is None else ids
    absent = {name: flags for name, flags in absent.items() if name in wanted}
    if how.resilient:
        changes, ids = _without_moves(changes, ids)
    op = changes["op"].to_numpy()
    if how.distinct:
        require_distinct(changes, ids, [name for name in layout if f"b_{name}" in changes.column_names])
    moving = _moving(op, ids)
    fates = _follow(op, ids, absent, moving)
    kinds = _plain(op, ids, absent, moving, how.resilient)
    for kind in Kind:
        kinds[kind] = _joined(kinds[kind], [fate for fate in fates if fate.kind is kind], absent)
    return _Taker(changes, [c.name for c in key], wanted, ids, how.old).tables(kinds)


def _as_they_are(changes: pa.Table, key: Sequence[KeyColumn], columns: Sequence[str]) -> NetRows | None:
    """Return the net change of inserts under different keys, or of one update with all its values: themselves.

    None for all else. Of thousands of tables with a few rows each the general way takes ten times as long.
    """
    rows = changes.num_rows
    if not rows or changes["absent"].null_count != rows or changes["before"].to_numpy().any():
        return None
    op = changes["op"].to_numpy()
    is_insert = bool((op == Op.INSERT).all())
    if (rows > 1 and not (is_insert and _differ(changes, key))) or op[0] == Op.DELETE:
        return None
    net = changes.select([f"a_{name}" for name in dict.fromkeys(columns)]).combine_chunks()
    return NetRows(NOTHING, NOTHING, NOTHING, net) if is_insert else NetRows(NOTHING, net, NOTHING, NOTHING)


def _differ(changes: pa.Table, key: Sequence[KeyColumn]) -> bool:
    """Does a column of the key tell all new rows apart? A key comes twice where the target ignores the delete between.

    Only a column whose values are equal when their bytes are is asked.
    """
    columns = (changes[f"a_{column.name}"] for column in key if column.equality is Equality.BYTES)
    return any(pc.count_distinct(values).as_py() == changes.num_rows for values in columns)


def has_key_updates(changes: pa.Table, layout: Sequence[str], key: Sequence[KeyColumn]) -> bool:
    """Return whether any update changes its row's key, so that keys can't be spread over buckets.

    Raises NeedsTargetKeys.
    """
    whole = with_whole_keys(changes, [c.name for c in key], absent_columns(changes["absent"], layout))
    return bool(_moved(whole["op"].to_numpy(), key_ids(whole, key)).any())


def _moved(op: Ints, ids: KeyIds) -> Flags:
    moved: Flags = (op == Op.UPDATE) & (ids.old != ids.new)
    return moved


def _moving(op: Ints, ids: KeyIds) -> Flags:
    """Return for each key number whether a key update touches it."""
    touched = np.zeros(int(max(ids.new.max(initial=-1), ids.old.max(initial=-1))) + 1, bool)
    moved = _moved(op, ids)
    touched[ids.old[moved]] = True
    touched[ids.new[moved]] = True
    return touched


def _follow(op: Ints, ids: KeyIds, absent: Mapping[str, Flags], moving: Flags) -> list[Fate]:
    if not moving.any():
        return []
    follower = Follower(len(absent))
    key = np.where(ids.new >= 0, ids.new, ids.old)
    for row in np.flatnonzero(moving[key]):
        has_value = [not flags[row] for flags in absent.values()]
        follower.step(int(row), int(op[row]), int(ids.old[row]), int(ids.new[row]), has_value)
    return list(follower.fates())


def _without_moves(changes: pa.Table, ids: KeyIds) -> tuple[pa.Table, KeyIds]:
    """Return the changes with a DELETE and an INSERT for each update of a key, and their keys."""
    op = changes["op"].to_numpy()
    moved = _moved(op, ids)
    if not moved.any():
        return changes, ids
    places = np.repeat(np.arange(len(op)), 1 + moved)
    comes = np.concatenate([[False], places[1:] == places[:-1]])
    goes = moved[places] & ~comes
    as_op = np.where(comes, Op.INSERT, np.where(goes, Op.DELETE, op[places])).astype(np.int8)
    changes = changes.take(pa.array(places))
    before = np.where(comes, 0, changes["before"].to_numpy()).astype(np.int8)
    for name, values in (("op", as_op), ("before", before)):
        changes = changes.set_column(changes.column_names.index(name), name, pa.array(values))
    old, new = np.where(comes, -1, ids.old[places]), np.where(goes, -1, ids.new[places])
    return changes, replace(ids, old=old, new=new)


def _plain(
    op: Ints, ids: KeyIds, absent: Mapping[str, Flags], moving: Flags, resilient: bool = False
) -> dict[Kind, _Rows]:
    """Compute the net rows of keys without key updates all at once, from the first and the last change of each key."""
    key = np.where(ids.new >= 0, ids.new, ids.old)
    rows = np.flatnonzero(~moving[key])
    last = newest(key[rows], rows, len(moving))
    first = newest(key[rows][::-1], rows[::-1], len(moving))
    keys = np.flatnonzero(last >= 0)
    is_new = op[first[keys]] == Op.INSERT
    is_gone = op[last[keys]] == Op.DELETE
    value_at = {}
    for name, flags in absent.items():
        has_value = rows[~flags[rows] & (op[rows] != Op.DELETE)]
        value_at[name] = newest(key[has_value], has_value, len(moving))
    chosen = {
        Kind.DELETE: keys[is_gone if resilient else ~is_new & is_gone],
        Kind.UPDATE: keys[~is_new & ~is_gone],
        Kind.MOVE: keys[:0],
        Kind.INSERT: keys[is_new & ~is_gone],
    }
    is_old = op[first] != Op.INSERT
    old_at = np.where(is_old, first, last)  # of what came and went: the row that went
    return {
        kind: _Rows(at, last[at], {name: h[at] for name, h in value_at.items()}, old_at[at], is_old[at])
        for kind, at in chosen.items()
    }


def newest(key: Ints, rows: Ints, keys: int) -> Ints:
    """Return for each key the last of these rows that has it, -1 where none has. key: of each row; keys: how many."""
    found = np.full(keys, -1, np.int64)
    found[key] = rows  # of equal keys the last one stays
    return found


def _joined(rows: _Rows, fates: Sequence[Fate], absent: Iterable[str]) -> _Rows:
    if not fates:
        return rows
    return _Rows(
        np.concatenate([rows.base, np.array([fate.base for fate in fates], np.int64)]),
        np.concatenate([rows.last, np.array([fate.last for fate in fates], np.int64)]),
        {
            name: np.concatenate(
                [rows.value_at[name], np.array([f.value_at[i] if f.value_at else -1 for f in fates], np.int64)]
            )
            for i, name in enumerate(absent)
        },
        np.concatenate([rows.first, np.full(len(fates), -1, np.int64)]),
        np.concatenate([rows.is_old, np.ones(len(fates), bool)]),
    )


class _Taker:
    """A taker copies the values of net rows out of the log."""

    def __init__(
        self,
        changes: pa.Table,
        key: Sequence[str],
        columns: Sequence[str],
        ids: KeyIds,
        old: Sequence[str] | None,
    ) -> None:
        self.changes = changes.combine_chunks()
        self.key = key
        self.columns = columns
        self.ids = ids
        self.old = old

    def tables(self, kinds: Mapping[Kind, _Rows]) -> NetRows:
        made: dict[Kind, Callable[[_Rows], dict[str, Any]]] = {
            Kind.DELETE: lambda rows: {**self._old_values(rows), **self._base_keys(rows)},
            Kind.UPDATE: lambda rows: {**self._values(rows), **_value_flags(rows), **self._old_values(rows)},
            Kind.MOVE: lambda rows: {**self._base_keys(rows), **self._values(rows), **_value_flags(rows)},
            Kind.INSERT: lambda rows: {**self._values(rows), **self._places(rows)},
        }
        tables = {kind: pa.table(made[kind](rows) if len(rows.base) else {}) for kind, rows in kinds.items()}
        return NetRows(tables[Kind.DELETE], tables[Kind.UPDATE], tables[Kind.MOVE], tables[Kind.INSERT])

    def _values(self, rows: _Rows) -> dict[str, Any]:
        """Return the values of columns; those that are never absent are taken together.

        Each call costs more than twenty of its rows.
        """
        always = [f"a_{c}" for c in self.columns if c not in rows.value_at]
        whole = self._take(always, rows.last) if always else {}
        some = {f"a_{c}": self._take([f"a_{c}"], at)[f"a_{c}"] for c, at in rows.value_at.items()}
        return {f"a_{c}": some[f"a_{c}"] if c in rows.value_at else whole[f"a_{c}"] for c in self.columns}

    def _old_values(self, rows: _Rows) -> dict[str, Any]:
        """Return the values before all changes, if they are wanted, and whether there was a row."""
        if self.old is None:
            return {}
        values = self._take([f"b_{name}" for name in self.old], rows.first) if self.old else {}
        found = {f"b_{name}": values[f"b_{name}"] for name in self.old}
        return {**found, "was_there": pa.array(rows.is_old), **self._places(rows)}

    def _places(self, rows: _Rows) -> dict[str, Any]:
        return {} if self.old is None else {"lsn": self._take(["lsn"], rows.last)["lsn"]}

    def _take(self, columns: Sequence[str], at: Ints) -> pa.Table:
        values = self.changes.select(list(columns))
        if len(at) == len(values) and len(at) and at[0] == 0 and bool((np.diff(at) == 1).all()):
            return values
        missing = at < 0
        return values.take(pa.array(at, mask=missing) if missing.any() else pa.array(at))

    def _base_keys(self, rows: _Rows) -> dict[str, Any]:
        """Return the key values of base rows, from any change that has them."""
        keys = int(max(self.ids.new.max(initial=-1), self.ids.old.max(initial=-1))) + 1
        old_at = np.flatnonzero((self.changes["before"].to_numpy() != 0) & (self.ids.old >= 0))
        new_at = np.flatnonzero(self.ids.new >= 0)
        by_old = newest(self.ids.old[old_at], old_at, keys)[rows.base]
        by_new = newest(self.ids.new[new_at], new_at, keys)[rows.base]
        result = {}
        for name in self.key:
            old, new = self._take([f"b_{name}"], by_old), self._take([f"a_{name}"], by_new)
            result[f"b_{name}"] = pc.coalesce(old[f"b_{name}"], new[f"a_{name}"])
        return result


def _value_flags(rows: _Rows) -> dict[str, Any]:
    """Return the `h_` flags of the columns that some of these rows do not change."""
    return {f"h_{name}": pa.array(at >= 0) for name, at in rows.value_at.items() if (at < 0).any()}
