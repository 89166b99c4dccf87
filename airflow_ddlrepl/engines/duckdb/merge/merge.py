"""This module merges staged rows into tables of a DuckDB file, in the open transaction.

No table has a key that the file enforces: the merge counts what its statements find, so a row that is missing or is
there already is never passed over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.engines.duckdb.merge.refusals import refusals
from airflow_ddlrepl.engines.duckdb.merge.stage import Staged
from airflow_ddlrepl.engines.duckdb.types.physical import physical, value
from airflow_ddlrepl.engines.duckdb_sql.quoting import qualified, quote
from airflow_ddlrepl.errors import KeyTaken, RowsRefused
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

REPAIR = "compare and repair: ddlrepl compare --repair; or load the table again: ddlrepl refresh --table"
_ROWS = "ddlrepl_staged"


def merge(connection: Connection, name: TableName, shape: Table, part: Sequence[Staged]) -> Counter[str]:
    """Merge the buckets of one section of a table's changes; return how many rows, as `Applied.rows` counts them.

    shape: of the target's table now. Raises RowsRefused INT-101 (rows are missing), KeyTaken INT-102 (rows are there
    already), RowsRefused INT-105 (a value that a column can't hold).
    """
    done: Counter[str] = Counter()
    for kind in (
        "deletes",
        "updates",
        "moves",
        "inserts",
        "images",
    ):  # moves go to keys of rows that updates mark deleted
        for one in part:
            if one.counts.get(kind):
                done += _Merge(connection, name, shape, one).run(kind)
    done["changes"] += sum(one.read for one in part)
    return done


class _Merge:
    """A merge of one kind of rows. What is staged is seen as a table of Arrow."""

    def __init__(self, connection: Connection, name: TableName, shape: Table, staging: Staged) -> None:
        self.connection, self.name, self.shape, self.staged = connection, name, shape, staging
        self.to = qualified(name)
        self.rows = pa.table({})

    def run(self, kind: str) -> Counter[str]:
        self.rows = self.staged.table(kind)
        try:
            with refusals(self.name):
                return self._run(kind)
        finally:
            self.connection.unregister(_ROWS)

    def _run(self, kind: str) -> Counter[str]:
        count = self.rows.num_rows
        if kind == "images":
            return self._images()
        if self.staged.is_resilient:
            return self._resilient(kind)
        if kind == "deletes":
            self._require(f"DELETE FROM {self.to} AS t USING {_ROWS} AS s WHERE {self._same_key('b')}", "delete")
            return Counter(deleted=count)
        if kind == "inserts":
            self._forget_deleted()
            self._execute(f"INSERT INTO {self.to} ({self._names()}) SELECT {self._whole()} FROM {_ROWS} AS s")
            self._require_alone()
            return Counter(inserted=count)
        if kind == "moves":
            self._forget_deleted()
        side = "b" if kind == "moves" else "a"
        if sets := self._sets(is_move=kind == "moves"):
            self._turn_zeros(side)
            same = f"{self._same_key(side)}{self._is_alive}"
            self._require(f"UPDATE {self.to} AS t SET {sets} FROM {_ROWS} AS s WHERE {same}", "update")
        if kind == "moves":
            self._require_alone()
        return Counter(updated=count)

    def _resilient(self, kind: str) -> Counter[str]:
        """Write rows that may be there already, or remove rows that may be missing; each is whole."""
        count = self.rows.num_rows
        if kind == "deletes":
            self._execute(f"DELETE FROM {self.to} AS t USING {_ROWS} AS s WHERE {self._same_key('b')}")
            return Counter(deleted=count)
        if kind == "inserts":
            self._forget_deleted()
        if sets := self._sets(is_move=False):
            self._turn_zeros("a")
            self._execute(f"UPDATE {self.to} AS t SET {sets} FROM {_ROWS} AS s WHERE {self._same_key('a')}")
        there = f"SELECT 1 FROM {self.to} AS t WHERE {self._same_key('a')}"
        rows = f"SELECT {self._whole()} FROM {_ROWS} AS s WHERE NOT EXISTS ({there})"
        self._execute(f"INSERT INTO {self.to} ({self._names()}) {rows}")
        self._require_alone()
        return Counter({"inserted" if kind == "inserts" else "updated": count})

    def _images(self) -> Counter[str]:
        """Remove and add copies of whole rows."""
        columns = [c for c in self.shape.columns if f"a{c.id}" in self.rows.column_names]
        pairs = [(quote(c.name), self._value(c.id, "a")) for c in columns]
        names, values = ", ".join(name for name, _ in pairs), ", ".join(f"{sql} AS {name}" for name, sql in pairs)
        gone = f"SELECT {values}, -copies AS ddlrepl_gone FROM {_ROWS} AS s WHERE s.copies < 0"
        places = f"row_number() OVER (PARTITION BY {names}) AS ddlrepl_n, rowid AS ddlrepl_place"
        numbered = f"SELECT {names}, {places} FROM {self.to}"
        same = " AND ".join(f"t.{name} IS NOT DISTINCT FROM g.{name}" for name, _ in pairs)
        copies = "SELECT coalesce(sum({0}), 0)::BIGINT FROM {1} AS s WHERE {0} > 0"
        removed = self._execute(copies.format("-copies", _ROWS))
        found = self._execute(
            f"DELETE FROM {self.to} WHERE rowid IN (SELECT t.ddlrepl_place FROM ({numbered}) AS t JOIN ({gone}) AS g"
            f" ON {same} WHERE t.ddlrepl_n <= g.ddlrepl_gone)"
        )
        if found != removed:
            raise self._missing(removed, found, "delete")
        added = self._execute(copies.format("copies", _ROWS))
        repeated = f"{_ROWS} AS s, range(copies) WHERE copies > 0"
        self._execute(f"INSERT INTO {self.to} ({self._names()}) SELECT {self._whole()} FROM {repeated}")
        return Counter(deleted=removed, inserted=added)

    def _require(self, statement: str, verb: str) -> None:
        if (found := self._execute(statement)) != self.rows.num_rows:
            raise self._missing(self.rows.num_rows, found, verb)

    def _missing(self, rows: int, found: int, verb: str) -> RowsRefused:
        return RowsRefused(
            f"rows are missing in the target: {rows} to {verb}, {found} found"
            if found < rows
            else f"rows exist more than once: {rows} to {verb}, {found} found",
            code="INT-101",
            table=self.name,
            hint=REPAIR,
        )

    @property
    def _is_alive(self) -> str:
        """Return SQL that follows a key, so that a row which stays as a deleted one does not have it."""
        return f" AND NOT t.{quote(self.staged.deletion)}" if self.staged.deletion else ""

    def _forget_deleted(self) -> None:
        """Remove rows that stayed as deleted ones, where rows come under their keys."""
        if flag := self.staged.deletion:
            same = f"{self._same_key('a')} AND t.{quote(flag)}"
            self._execute(f"DELETE FROM {self.to} AS t USING {_ROWS} AS s WHERE {same}")

    def _require_alone(self) -> None:
        """Raise KeyTaken where another row has the key of one that was just written; a history has no key."""
        if not self.staged.key:
            return
        same = f"SELECT count(*) FROM {self.to} AS t JOIN {_ROWS} AS s ON {self._same_key('a')}"
        if (found := self._execute(same)) != self.rows.num_rows:
            raise KeyTaken(
                f"rows are in the target already: {found} rows have {self.rows.num_rows} keys",
                code="INT-102",
                table=self.name,
                hint=REPAIR,
            )

    def _execute(self, statement: str) -> int:
        """Run a statement that reads the staged rows once, as a stream.

        Of a table DuckDB has Arrow filter the rows, for a join, too: that fails for infinities, 24:00 and moments
        before the year 1, and loses NaN.
        """
        self.connection.register(_ROWS, self.rows.__arrow_c_stream__())
        return int(self.connection.execute(statement).fetchall()[0][0])

    def _same_key(self, side: str) -> str:
        columns = [self.shape.column(i) for i in self.staged.key]
        return " AND ".join(f"t.{quote(column.name)} = {self._value(column.id, side)}" for column in columns)

    def _sets(self, *, is_move: bool) -> str:
        key = () if is_move else self.staged.key
        found = []
        for column in self.shape.columns:
            if f"a{column.id}" not in self.rows.column_names or column.id in key:
                continue
            sql, name = self._value(column.id, "a"), quote(column.name)
            if f"h{column.id}" in self.rows.column_names:
                sql = f"CASE WHEN s.h{column.id} THEN {sql} ELSE t.{name} END"
            found.append(f"{name} = {sql}")
        return ", ".join(found)

    def _turn_zeros(self, side: str) -> None:
        """Make another number of each zero that gets the other sign: an UPDATE of DuckDB's leaves 0 where -0 is set."""
        for column in self.shape.columns:
            if self._physical_type(column.id) not in ("FLOAT", "DOUBLE") or column.id in self.staged.key:
                continue
            name = f"a{column.id}"
            if name not in self.rows.column_names or not pc.any(pc.equal(self.rows[name], 0)).as_py():
                continue
            old, new = f"t.{quote(column.name)}", self._value(column.id, "a")
            turns = f"{self._same_key(side)} AND {old} = 0 AND {new} = 0 AND signbit({old}) <> signbit({new})"
            has = f" AND s.h{column.id}" if f"h{column.id}" in self.rows.column_names else ""
            self._execute(f"UPDATE {self.to} AS t SET {quote(column.name)} = 1 FROM {_ROWS} AS s WHERE {turns}{has}")

    def _names(self) -> str:
        return ", ".join(quote(column.name) for column in self.shape.columns)

    def _whole(self) -> str:
        """Return the values of whole rows; a row that is older than a column shows there what the source shows."""
        return ", ".join(
            self._value(c.id, "a") if f"a{c.id}" in self.rows.column_names else value(c.missing, c, self.shape.types)
            for c in self.shape.columns
        )

    def _value(self, column_id: int, side: str) -> str:
        return f"CAST(s.{side}{column_id} AS {self._physical_type(column_id)})"

    def _physical_type(self, column_id: int) -> str:
        return physical(self.shape.column(column_id).type, self.shape.types)
