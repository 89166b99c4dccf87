"""This module reads from the trail the keys of the rows that a part of the log is about, for every kind of target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.integrate.netting.keys import key_rows, key_values
from airflow_ddlrepl.integrate.netting.presence import absent_columns, with_whole_keys
from airflow_ddlrepl.model.change import Op
from airflow_ddlrepl.model.table import Column, Identity
from airflow_ddlrepl.trail.store import Trail

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.comparing import CompareTask, WrittenKeys
    from airflow_ddlrepl.trail.manifest import RowFile

_FACTS = ("lsn", "seq", "op", "before", "absent")


class ChangedKeys(NamedTuple):
    """Changed keys are those of some changes in the order of the log, each once, as values of the trail."""

    file: RowFile
    keys: pa.Table  # one column for each of `key_pairs`: c0, c1, …
    finds_row: pa.Array  # did the first change of the key find a row with it, as updates and deletes do?


def key_pairs(task: CompareTask) -> list[tuple[Column, Column]]:
    """Return the columns of a comparison's keys, at the source and at the target; all columns where there is no key."""
    theirs = {column.id: column for column in task.source.columns}
    ours = {column.id: column for column in task.shape.columns if column.id in theirs}
    ours = {i: column for i, column in ours.items() if i not in task.uncompared}
    key = task.source.key.columns if task.source.key else ()
    wanted = key if key and all(i in ours for i in key) else tuple(ours)
    return [(theirs[i], ours[i]) for i in wanted]


def shows_keys(task: WrittenKeys) -> bool:
    """Return whether the log has the key of every row that it is about, before the change as well as after it."""
    names = [source.name for source, _ in key_pairs(task.compared)]
    return bool(names) and all(_shows(file, names) for _, files in task.files for file in files)


def _shows(file: RowFile, names: Sequence[str]) -> bool:
    layout = {column.name: column for column in file.columns}
    if any(name not in layout for name in names):
        return False
    is_all_old = file.identity is Identity.FULL or all(layout[name].is_key for name in names)
    return is_all_old or not (file.deletes or file.updates)


def changed_keys(task: WrittenKeys) -> Iterator[ChangedKeys]:
    """Yield the keys of the task's changes, batch by batch in the order of the log, where `shows_keys`."""
    names = [source.name for source, _ in key_pairs(task.compared)]
    for url, files in task.files:
        trail = Trail(url, task.channel)
        for file in files:
            for changes in _changes(trail, file, names, task):
                yield _keys(file, changes, names)


def _changes(trail: Trail, file: RowFile, names: Sequence[str], task: WrittenKeys) -> Iterator[pa.Table]:
    """Yield the row changes with the key before each, where the log has it, and with no value absent."""
    layout = [column.name for column in file.columns]
    wanted = [*_FACTS, *(f"a_{name}" for name in names)]
    for batch in trail.batches(file, task.low, task.high, wanted, [f"b_{name}" for name in names]):
        rows = batch
        if task.skip_lsns:
            rows = rows.filter(pc.invert(pc.is_in(rows["lsn"], pa.array(sorted(task.skip_lsns), pa.int64()))))
        for name in names:
            if f"b_{name}" not in rows.column_names:
                rows = rows.append_column(f"b_{name}", pa.nulls(rows.num_rows, rows[f"a_{name}"].type))
        if rows.num_rows:
            yield with_whole_keys(rows, names, absent_columns(rows["absent"], layout))


def _keys(file: RowFile, changes: pa.Table, names: Sequence[str]) -> ChangedKeys:
    new_at, old_at = key_rows(changes)
    values = {f"c{i}": key_values(changes, name, new_at, old_at) for i, name in enumerate(names)}
    op, before = changes["op"].to_numpy(), changes["before"].to_numpy()
    is_update = (op[new_at] == Op.UPDATE) & (before[new_at] == 0)
    flags = np.concatenate((is_update, np.ones(len(old_at), bool)))
    order = np.argsort(np.concatenate((new_at * 2 + 1, old_at * 2)), kind="stable")
    keys = pa.table({**values, "f": pa.array(flags)}).take(pa.array(order))
    first = keys.group_by(list(values), use_threads=False).aggregate([("f", "first")])
    return ChangedKeys(file, first.select(list(values)), first["f_first"])
