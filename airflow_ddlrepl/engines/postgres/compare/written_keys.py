"""This module finds the keys of the rows that a part of the log is about, as texts that compare with a table's own.

The values of the trail are sent to the target as they are, with their types, and it writes their texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from airflow_ddlrepl.engines.changed_keys import changed_keys, key_pairs, shows_keys
from airflow_ddlrepl.engines.comparing import CompareTask, WrittenKeys
from airflow_ddlrepl.engines.postgres.compare.digest import value
from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.settings import SPELLING
from airflow_ddlrepl.engines.postgres.merge.inline_rows import MOST_ROWS, InlineRows, as_inline_rows, taking
from airflow_ddlrepl.engines.postgres.merge.staging_tables import staging_type
from airflow_ddlrepl.model.table import Column
from airflow_ddlrepl.trail.manifest import RowFile


def written_keys(task: WrittenKeys) -> dict[str, bool] | None:
    """Return the keys of all rows that were written, each with whether its first change found a row.

    None: the log does not show them.
    """
    if not shows_keys(task):
        return None
    pairs, found = key_pairs(task.compared), dict[str, bool]()
    with session(task.compared.target_dsn, autocommit=True, application_name="ddlrepl compare") as connection:
        connection.execute(SPELLING.encode())
        for changed in changed_keys(task):
            types = _staging_types(task.compared, changed.file, pairs)
            keys = changed.keys.append_column("f", changed.finds_row)
            texts = _keys_as_written(connection, keys, types, pairs)
            if texts is None:
                return None
            found = {**texts, **found}
    return found


def _staging_types(task: CompareTask, file: RowFile, pairs: Sequence[tuple[Column, Column]]) -> list[tuple[str, str]]:
    encodings = {column.name: column.encoding for column in file.columns}
    return [
        (f"c{i}", staging_type(source, task.source.types, encodings[source.name]))
        for i, (source, _) in enumerate(pairs)
    ]


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
