"""This module finds the keys of the rows that a part of the log is about, as texts that compare with a table's own.

The values of the trail are sent to the target as they are, with their types, and it writes their texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.engines.comparing import CompareTask, WrittenKeys
from airflow_ddlrepl.engines.postgres.compare.digest import value
from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.connection.settings import SPELLING
from airflow_ddlrepl.engines.postgres.merge.inline_rows import MOST_ROWS, InlineRows, as_inline_rows, taking
from airflow_ddlrepl.engines.postgres.merge.staging_tables import staging_type
from airflow_ddlrepl.integrate.netting.keys import key_rows, key_values
from airflow_ddlrepl.integrate.netting.presence import absent_columns, with_whole_keys
from airflow_ddlrepl.model.change import Op
from airflow_ddlrepl.model.table import Column, Identity
from airflow_ddlrepl.trail.manifest import RowFile
from airflow_ddlrepl.trail.store import Trail

if TYPE_CHECKING:
    from psycopg import Connection

FACTS = ("lsn", "seq", "op", "before", "absent")


def written_keys(task: WrittenKeys) -> dict[str, bool] | None:
    """Return the keys of all rows that were written, each with whether its first change found a row.

    None: the log does not show them.
    """
    pairs = _pairs(task.compared)
    names = [source.name for source, _ in pairs]
    if not pairs or any(not _shows(file, names) for _, files in task.files for file in files):
        return None
    found: dict[str, bool] = {}
    with session(task.compared.target_dsn, autocommit=True, application_name="ddlrepl compare") as connection:
        connection.execute(SPELLING.encode())
        for url, files in task.files:
            trail = Trail(url, task.channel)
            for file in files:
                types = _staging_types(task.compared, file, pairs)
                for changes in _changes(trail, file, names, task):
                    texts = _keys_as_written(connection, _keys(changes, names), types, pairs)
                    if texts is None:
                        return None
                    found = {**texts, **found}
    return found


def _pairs(task: CompareTask) -> list[tuple[Column, Column]]:
    """Return the columns of a comparison's keys, at the source and at the target; all columns where there is no key."""
    theirs = {column.id: column for column in task.source.columns}
    ours = {column.id: column for column in task.shape.columns if column.id in theirs}
    ours = {i: column for i, column in ours.items() if i not in task.uncompared}
    key = task.source.key.columns if task.source.key else ()
    wanted = key if key and all(i in ours for i in key) else tuple(ours)
    return [(theirs[i], ours[i]) for i in wanted]


def _shows(file: RowFile, names: Sequence[str]) -> bool:
    """Has the log these columns of every row in the file, before the change as well as after it?"""
    layout = {column.name: column for column in file.columns}
    if any(name not in layout for name in names):
        return False
    is_all_old = file.identity is Identity.FULL or all(layout[name].is_key for name in names)
    return is_all_old or not (file.deletes or file.updates)


def _staging_types(task: CompareTask, file: RowFile, pairs: Sequence[tuple[Column, Column]]) -> list[tuple[str, str]]:
    encodings = {column.name: column.encoding for column in file.columns}
    return [
        (f"c{i}", staging_type(source, task.source.types, encodings[source.name]))
        for i, (source, _) in enumerate(pairs)
    ]


def _changes(trail: Trail, file: RowFile, names: Sequence[str], task: WrittenKeys) -> Iterator[pa.Table]:
    """Yield the row changes with the key before each, where the log has it, and with no value absent."""
    layout = [column.name for column in file.columns]
    wanted = [*FACTS, *(f"a_{name}" for name in names)]
    for batch in trail.batches(file, task.low, task.high, wanted, [f"b_{name}" for name in names]):
        rows = batch
        if task.skip_lsns:
            rows = rows.filter(pc.invert(pc.is_in(rows["lsn"], pa.array(sorted(task.skip_lsns), pa.int64()))))
        for name in names:
            if f"b_{name}" not in rows.column_names:
                rows = rows.append_column(f"b_{name}", pa.nulls(rows.num_rows, rows[f"a_{name}"].type))
        if rows.num_rows:
            yield with_whole_keys(rows, names, absent_columns(rows["absent"], layout))


def _keys(changes: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return the keys of the changes, each once, and in the column `f` whether its first change found a row."""
    new_at, old_at = key_rows(changes)
    values = {f"c{i}": key_values(changes, name, new_at, old_at) for i, name in enumerate(names)}
    op, before = changes["op"].to_numpy(), changes["before"].to_numpy()
    is_update = (op[new_at] == Op.UPDATE) & (before[new_at] == 0)
    flags = np.concatenate((is_update, np.ones(len(old_at), bool)))
    order = np.argsort(np.concatenate((new_at * 2 + 1, old_at * 2)), kind="stable")
    keys = pa.table({**values, "f": pa.array(flags)}).take(pa.array(order))
    first = keys.group_by(list(values), use_threads=False).aggregate([("f", "first")])
    return first.select([*values, "f_first"])


def _keys_as_written(
    connection: Connection[Any],
    keys: pa.Table,
    types: Sequence[tuple[str, str]],
    pairs: Sequence[tuple[Column, Column]],
) -> dict[str, bool] | None:
    """Return the keys as the target writes them, with their flags; None where one can't be sent."""
    written = ", ".join(value(replace(source, name=f"c{i}"), target) for i, (source, target) in enumerate(pairs))
    found: dict[str, bool] = {}
    for at in range(0, keys.num_rows, MOST_ROWS):
        for rows in _inline([*types, ("f", "bool")], keys.slice(at, MOST_ROWS)):
            if rows is None:
                return None
            query = f"SELECT ROW({written})::text, k.f FROM {rows.sql()} AS k ORDER BY k.ctid"
            for text, flag in taking(connection).execute(query, rows.values, prepare=False):
                found.setdefault(text, flag)
    return found


def _inline(types: Sequence[tuple[str, str]], keys: pa.Table) -> Iterator[InlineRows | None]:
    """Yield the keys in pieces that a statement takes."""
    rows = as_inline_rows(types, keys)
    if rows is not None or keys.num_rows <= 1:
        yield rows
        return
    half = keys.num_rows // 2
    yield from _inline(types, keys.slice(0, half))
    yield from _inline(types, keys.slice(half))
