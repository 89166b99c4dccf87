"""This module copies a source's rows beside a table of a DuckDB file, as the file holds their values.

The values come as the source's texts and DuckDB reads these, so that a comparison does not trust what a load
makes of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from airflow_ddlrepl.engines.changed_keys import key_pairs
from airflow_ddlrepl.engines.comparing import CompareTask, columns_compared
from airflow_ddlrepl.engines.duckdb.connection.quoting import quote
from airflow_ddlrepl.engines.duckdb.types.physical import TEXT, from_text, physical
from airflow_ddlrepl.engines.duckdb.types.read_texts import cut, read, required, why_not
from airflow_ddlrepl.mapping.misfits import is_cut
from airflow_ddlrepl.model.settings.table_settings import CoerceErrorPolicy
from airflow_ddlrepl.model.table import Column

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

SOURCE = "ddlrepl_source"
"""The temporary table with the source's rows."""
KEYS = "ddlrepl_keys"
"""The temporary table with the keys of the rows that are wanted, in its column k."""
_BATCH = "ddlrepl_batch"
Pairs = Sequence[tuple[Column, Column]]
"""Columns of the source, each with the target's."""


def pairs_of(task: CompareTask) -> list[tuple[Column, Column]]:
    """Return the columns that are compared."""
    there = {column.id: column for column in task.shape.columns}
    names = columns_compared(task.source, task.shape)
    columns = [(one, there[one.id]) for one in map(task.source.named, names)]
    return [pair for pair in columns if pair[0].id not in task.uncompared]


def physical_type(task: CompareTask, column: Column) -> str:
    """Return DuckDB's type for a column of the target's."""
    return physical(column.type, task.shape.types)


def key_names(task: CompareTask) -> list[str]:
    """Return the target's names of the columns of the key; nothing where rows are not told apart by one."""
    key = set(task.source.key.columns if task.source.key else ())
    pairs = key_pairs(task) if key else []
    return [ours.name for _, ours in pairs] if {theirs.id for theirs, _ in pairs} == key else []


def key_text(values: Iterable[str]) -> str:
    """Return SQL for the text of a key, which no other key has. values: SQL for each of its values."""
    return f"concat('(', concat_ws(',', {', '.join(map(_part, values))}), ')')"


def _part(value: str) -> str:
    text = f"CAST({value} AS VARCHAR)"
    quoted = f"""concat('"', replace(replace({text}, '\\', '\\\\'), '"', '""'), '"')"""
    needs_quotes = f"""{text} = '' OR regexp_matches({text}, '[(),"\\\\\\s]')"""
    return f"CASE WHEN {text} IS NULL THEN '' WHEN {needs_quotes} THEN {quoted} ELSE {text} END"


def keep_keys(connection: Connection, keys: Collection[str]) -> None:
    """Store keys, as `key_text` writes them."""
    connection.execute(f"CREATE OR REPLACE TEMP TABLE {KEYS} AS SELECT unnest(?::VARCHAR[]) AS k", [sorted(keys)])


def copy_source(connection: Connection, task: CompareTask, pairs: Pairs, *, only_keys: bool = False) -> tuple[int, int]:
    """Copy the source's rows into a table with the target's columns; return how many these are, and how many there are.

    A value that its type can't hold is NULL there. only_keys: rows alone whose keys are kept, and such a value raises
    what DuckDB raises. Rows that the target discards are not copied.
    """
    columns = ", ".join(f"{quote(ours.name)} {physical_type(task, ours)}" for _, ours in pairs)
    connection.execute(f"CREATE TEMP TABLE {SOURCE} ({columns or 'nothing INTEGER'})")
    names = columns_compared(task.source, task.shape)
    at = {name: f"v{place}" for place, name in enumerate(names)}

    def values(chosen: Pairs, *, fail: bool = False) -> list[str]:
        return [_value(task, at[theirs.name], (theirs, ours), fail=fail) for theirs, ours in chosen]

    wanted = ", ".join(values(pairs, fail=only_keys)) or "NULL"
    where = [f"{key_text(values(key_pairs(task)))} IN (FROM {KEYS})"] if only_keys else []
    unfit = {column.id for column in task.unfit} if task.discards else ()
    where += [f"({why_not(at[theirs.name], ours)}) IS NULL" for theirs, ours in pairs if ours.id in unfit]
    query = f"SELECT {wanted} FROM {_BATCH}" + (f" WHERE {' AND '.join(where)}" if where else "")
    copied = total = 0
    for batch in task.contents.batches():
        connection.register(_BATCH, batch.rename_columns([*at.values()]) if names else batch)
        copied += connection.execute(f"INSERT INTO {SOURCE} {query}").fetchall()[0][0]
        connection.unregister(_BATCH)
        total += batch.num_rows
    return copied, total


def _value(task: CompareTask, text: str, pair: tuple[Column, Column], *, fail: bool) -> str:
    """Return SQL for the target's value of a source's text (SQL). fail: not NULL where there is none."""
    theirs, ours = pair
    held, is_unfit = physical_type(task, ours), ours.id in {column.id for column in task.unfit}
    if task.policy is CoerceErrorPolicy.TRUNCATE and is_cut(theirs, ours):
        return cut(text, ours)
    is_read_otherwise = theirs.type.text != ours.type.text and (held != TEXT or ours.type.name == "numeric")
    if is_unfit or is_read_otherwise:
        return (required if fail and not is_unfit else read)(text, ours, task.shape.types)
    return from_text(text, held, "CAST" if fail else "TRY_CAST")
