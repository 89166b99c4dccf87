"""This module copies a source's rows into a temporary table of DuckDB, as a target is to hold their values.

The values come as the source's texts and DuckDB reads these, so that a comparison does not trust what a load
makes of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.engines.changed_keys import key_pairs
from airflow_ddlrepl.engines.comparing import CompareTask, columns_compared
from airflow_ddlrepl.engines.duckdb_sql.physical import Physical
from airflow_ddlrepl.engines.duckdb_sql.quoting import quote
from airflow_ddlrepl.engines.duckdb_sql.read_texts import cut, read, required, why_not
from airflow_ddlrepl.engines.duckdb_sql.text_sql import TEXT, from_text
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


@dataclass(frozen=True, slots=True)
class SourceRows:
    """These are the source's rows as a target is to hold them. physical: says as which types of DuckDB.

    fails: a value that its type can't hold raises what DuckDB raises; else it is NULL.
    """

    connection: Connection
    task: CompareTask
    pairs: Pairs
    physical: Physical
    fails: bool = False

    def type_of(self, column: Column) -> str:
        """Return DuckDB's type for a column of the target's."""
        return self.physical(column.type, self.task.shape.types)

    def copy(self, where: Iterable[str] = ()) -> tuple[int, int]:
        """Copy the rows into the table `SOURCE`; return how many these are, and how many there are at the source.

        where: SQL of conditions that a row meets. Rows that the target discards are not copied.
        """
        columns = ", ".join(f"{quote(ours.name)} {self.type_of(ours)}" for _, ours in self.pairs)
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {SOURCE} ({columns or 'nothing INTEGER'})")
        counted = self.each(lambda query: f"INSERT INTO {SOURCE} {query}", where)
        pieces = [(copied[0][0], total) for copied, total in counted]
        return sum(copied for copied, _ in pieces), sum(total for _, total in pieces)

    def key(self) -> str:
        """Return SQL for the text of a row's key, for conditions."""
        return key_text(self.values(key_pairs(self.task)))

    def each(
        self, statement: Callable[[str], str], where: Iterable[str] = ()
    ) -> Iterator[tuple[list[tuple[Any, ...]], int]]:
        """Yield what a statement returns of each batch, and how many rows that has.

        statement: writes it about a query of the target's columns. where: as of `copy`.
        """
        task = self.task
        names = columns_compared(task.source, task.shape)
        named = zip(self.values(self.pairs), self.pairs, strict=True)
        wanted = ", ".join(f"{value} AS {quote(ours.name)}" for value, (_, ours) in named) or "NULL AS nothing"
        unfit = {column.id for column in task.unfit} if task.discards else ()
        conditions = [
            f"({why_not(self._text(theirs), ours, self.type_of(ours))}) IS NULL"
            for theirs, ours in self.pairs
            if ours.id in unfit
        ]
        conditions += where
        query = f"SELECT {wanted} FROM {_BATCH}" + (f" WHERE {' AND '.join(conditions)}" if conditions else "")
        for batch in task.contents.batches():
            texts = batch.rename_columns([f"v{place}" for place in range(len(names))]) if names else batch
            self.connection.register(_BATCH, texts)
            found = self.connection.execute(statement(query)).fetchall()
            self.connection.unregister(_BATCH)
            yield found, batch.num_rows

    def _text(self, column: Column) -> str:
        """Return SQL for the source's text of a column."""
        return f"v{columns_compared(self.task.source, self.task.shape).index(column.name)}"

    def values(self, chosen: Pairs) -> list[str]:
        """Return SQL for the target's values of these columns, for conditions."""
        return [self._value(theirs, ours) for theirs, ours in chosen]

    def _value(self, theirs: Column, ours: Column) -> str:
        """Return SQL for the target's value of a column."""
        text, held = self._text(theirs), self.type_of(ours)
        is_unfit = ours.id in {column.id for column in self.task.unfit}
        if self.task.policy is CoerceErrorPolicy.TRUNCATE and is_cut(theirs, ours):
            return cut(text, ours)
        is_read_otherwise = theirs.type.text != ours.type.text and (held != TEXT or ours.type.name == "numeric")
        if is_unfit or is_read_otherwise:
            return (required if self.fails and not is_unfit else read)(text, ours, held)
        return from_text(text, held, "CAST" if self.fails else "TRY_CAST")
