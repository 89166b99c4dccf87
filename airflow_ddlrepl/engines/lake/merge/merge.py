"""This module merges staged rows into a table of a lake: one MERGE for all rows of a section that keep their keys.

No table has a key that the lake enforces. A MERGE fails at a row that is missing or is there already, and Spark counts
what it has found: so every row of the changes has found exactly one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from airflow_ddlrepl.engines.lake.connection.quoting import literal, quote
from airflow_ddlrepl.engines.lake.merge.refusals import MISSING, REPAIR, TAKEN, refusals
from airflow_ddlrepl.engines.lake.merge.stage import DELETE, INSERT, UPDATE, Staged
from airflow_ddlrepl.engines.lake.merge.staged_rows import StagedRows
from airflow_ddlrepl.engines.lake.types.literals import value
from airflow_ddlrepl.engines.lake.types.physical import physical
from airflow_ddlrepl.errors import KeyTaken, RowsRefused
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.types import TypeDefinition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MANY = 100_000
"""So many new rows are worth a statement of their own."""
_THERE = "ddlrepl_there"
"""The target's table in statements: by a name that no column has, Spark would take `name._file` for a part of one."""


def merge(spark: SparkSession, to: str, name: TableName, shape: Table, part: Sequence[Staged]) -> Counter[str]:
    """Merge the buckets of one section of a table's changes; return how many rows, as `Applied.rows` counts them.

    to: the table's quoted name in Spark. name: at the target, for errors. shape: of the target's table now. Raises
    RowsRefused INT-101 (rows are missing), KeyTaken INT-102 (rows are there already), RowsRefused INT-105 (Spark
    refuses the merge), DdlReplError SPK-104 and DiskFull DSK-103.
    """
    counts: Counter[str] = Counter()
    for one in part:
        counts.update(one.counts)
    with refusals(name):
        done = _Merge(spark, to, name, shape, part).merge(counts) if counts.total() else Counter()
    done["changes"] += sum(one.read for one in part)
    return done


class _Merge(StagedRows):
    """A merge of one section: all of its buckets at once, as keys are in one bucket only."""

    def __init__(self, spark: SparkSession, to: str, name: TableName, shape: Table, part: Sequence[Staged]) -> None:
        super().__init__(spark, to, part)
        self.name, self.shape = name, shape
        self.key = [shape.column(i) for i in part[0].key]
        self.known = {column for kind in ("rows", "images") for column in self.types(kind)}
        self.is_resilient = any(one.is_resilient for one in part)
        deletion = next((one.deletion for one in part if one.deletion), "")
        self.is_gone = f"{_THERE}.{quote(deletion)}" if deletion else ""
        """SQL that is true for deleted rows, which stay; empty: they don't."""

    def merge(self, counts: Counter[str]) -> Counter[str]:
        if counts["images"]:
            return self._images()
        if counts["moves"]:
            return self._moving(counts)
        rows = self.read("rows")
        assert rows is not None, "there are rows to be merged"
        ranges = partial(_ranges, self.part, self.key, self.shape.types)
        if not self.key:
            self._append(rows, counts["inserts"])
        elif self._is_apart(counts):
            new = Counter(inserts=counts["inserts"])
            self._merge_rows(rows.where(f"op <> {INSERT}"), counts - new, ranges(counts - new))
            self._merge_rows(rows.where(f"op = {INSERT}"), new, ranges(new))
        else:
            self._merge_rows(rows, counts, ranges(counts))
        return Counter(deleted=counts["deletes"], updated=counts["updates"], inserted=counts["inserts"])

    def _append(self, rows: DataFrame, count: int) -> None:
        """Add rows to a history, which has no key."""
        with self.view(rows) as (view, columns):
            names, values = self._row(columns)
            found = self.execute(f"INSERT INTO {self.to} ({names}) SELECT {values} FROM {view} AS s")
        assert found["inserts"] == count, found

    def _is_apart(self, counts: Counter[str]) -> bool:
        """Tell whether new rows are inserted by a statement of their own, which compares them with fewer rows.

        What a statement takes by itself has to be worth it.
        """
        is_mixed = 0 < counts["inserts"] < counts.total()
        return is_mixed and counts["inserts"] >= _MANY and not (self.is_resilient or self.is_gone)

    def _merge_rows(self, rows: DataFrame, wanted: Counter[str], ranges: Sequence[str] = ()) -> None:
        """Run one MERGE of rows that are found by their key. wanted: how many they are, by what is done with them.

        Unless rows may be there already, or missing, it fails at one that is missing, and at one whose key is taken.
        ranges: what is true for every row of the target that has one of their keys.
        """
        if wanted["updates"] and not self._sets(rows.columns):  # of columns that the target does not have
            rows, wanted = rows.where(f"op <> {UPDATE}"), wanted - Counter(updates=wanted["updates"])
        if not wanted.total():
            return
        with self.view(rows) as (view, columns):
            clauses = self._resilient(columns) if self.is_resilient else self._exact(columns, wanted)
            same = " AND ".join([*(f"{_THERE}.{quote(one.name)} = s.a{one.id}" for one in self.key), *ranges])
            found = self.execute(f"MERGE INTO {self.to} AS {_THERE} USING {view} AS s ON {same} {' '.join(clauses)}")
        if not self.is_resilient:
            _require(wanted, found, self.name)

    def _resilient(self, columns: Sequence[str]) -> Iterator[str]:
        """Yield the clauses for rows that may be there already, or missing; each is whole."""
        writes, (names, values) = f"s.op <> {DELETE}", self._row(columns)
        yield f"WHEN MATCHED AND s.op = {DELETE} THEN DELETE"
        if sets := self._sets(columns):
            yield f"WHEN MATCHED AND {writes} THEN UPDATE SET {sets}"
        yield f"WHEN NOT MATCHED AND {writes} THEN INSERT ({names}) VALUES ({values})"

    def _exact(self, columns: Sequence[str], wanted: Counter[str]) -> Iterator[str]:
        """Yield the clauses for rows of which each is to be found, or must not be there.

        A clause that fails names no column of the target's, of which nothing but the key is read then.
        """
        alive = f" AND NOT {self.is_gone}" if self.is_gone else ""
        only_inserts = wanted.total() == wanted["inserts"]
        names, values = self._row(columns)
        if wanted["deletes"]:
            yield f"WHEN MATCHED AND s.op = {DELETE}{alive} THEN DELETE"
        if wanted["updates"]:
            yield f"WHEN MATCHED AND s.op = {UPDATE}{alive} THEN UPDATE SET {self._sets(columns)}"
        if wanted["inserts"] and self.is_gone:
            yield f"WHEN MATCHED AND s.op = {INSERT} AND {self.is_gone} THEN UPDATE SET {self._whole(columns)}"
        if self.is_gone or (wanted["inserts"] and not only_inserts):
            failure = f"CASE WHEN s.op = {INSERT} THEN {self._fail(TAKEN)} ELSE {self._fail(MISSING)} END"
            yield f"WHEN MATCHED THEN UPDATE SET {self._whole(columns, failure)}"
        if not only_inserts:
            key = f"s.a{self.key[0].id}"
            values = self._row(columns, f"CASE WHEN s.op = {INSERT} THEN {key} ELSE {self._fail(MISSING)} END")[1]
        yield f"WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({values})"

    def _fail(self, why: str) -> str:
        """Return SQL that fails, with the key of its row, in the place of the first column of the key."""
        texts = ", ".join(f"CAST(s.a{one.id} AS STRING)" for one in self.key)
        of = physical(self.key[0].type, self.shape.types)
        return f"CAST(raise_error(concat({literal(why)}, concat_ws(', ', {texts}), ')')) AS {of})"

    def _moving(self, counts: Counter[str]) -> Counter[str]:
        """Merge rows of which some get another key: what these have in the target is read before any row is gone.

        All rows that go, or move away, are removed first: another row may take over a key.
        """
        moves, rest = self.read("moves"), self.read("rows")
        assert moves is not None, "there are rows that move"
        with self.view(moves) as (view, columns):
            whole = self.spark.sql(self._moved(view, columns)).localCheckpoint(True)
        gone = moves.selectExpr(f"CAST({DELETE} AS TINYINT) AS op", *(f"b{one.id} AS a{one.id}" for one in self.key))
        if rest is not None:
            gone = gone.unionByName(rest.where(f"op = {DELETE}").select(gone.columns))
        self._merge_rows(gone, Counter(deletes=counts["deletes"] + counts["moves"]))
        comes = whole if rest is None else whole.unionByName(rest.where(f"op <> {DELETE}"), allowMissingColumns=True)
        self._merge_rows(comes, Counter(updates=counts["updates"], inserts=counts["inserts"] + counts["moves"]))
        return Counter(
            deleted=counts["deletes"], updated=counts["updates"] + counts["moves"], inserted=counts["inserts"]
        )

    def _moved(self, view: str, columns: Sequence[str]) -> str:
        """Return SQL for the whole rows that move, as they are to be inserted."""
        values = [f"CAST({INSERT} AS TINYINT) AS op", "true AS moved"]
        for one in self.shape.columns:
            old, new = f"{_THERE}.{quote(one.name)}", f"s.a{one.id}"
            sql = old if f"a{one.id}" not in columns else new
            if f"h{one.id}" in columns:
                sql = f"CASE WHEN coalesce(s.h{one.id}, true) THEN {new} ELSE {old} END"
            values.append(f"{sql} AS a{one.id}")
        same = " AND ".join(f"{_THERE}.{quote(one.name)} = s.b{one.id}" for one in self.key)
        return f"SELECT {', '.join(values)} FROM {view} AS s JOIN {self.to} AS {_THERE} ON {same}"

    def _images(self) -> Counter[str]:
        """Remove and add copies of whole rows: those that go are found by the places where they are."""
        with self.view(self.read("images")) as (rows, columns):
            shown = [one for one in self.shape.columns if f"a{one.id}" in columns]
            totals = "coalesce(sum(greatest(-copies, 0)), 0), coalesce(sum(greatest(copies, 0)), 0)"
            removed, added = self.spark.sql(f"SELECT {totals} FROM {rows}").collect()[0]
            values = [f"a{one.id}" for one in shown]
            same = " AND ".join(f"{_THERE}.{quote(one.name)} <=> g.a{one.id}" for one in shown)
            same_row = ", ".join(f"g.{one}" for one in values)
            copy = f"{_THERE}._file AS file, {_THERE}._pos AS pos, {same_row}, -g.copies AS gone"
            number = f"row_number() OVER (PARTITION BY {same_row} ORDER BY {_THERE}._file, {_THERE}._pos)"
            gone = (
                f"SELECT file, pos, {', '.join(values)} FROM (SELECT {copy}, {number} AS number"
                f" FROM {self.to} AS {_THERE}"
                f" JOIN {rows} AS g ON g.copies < 0 AND {same}) WHERE number <= gone"
            )
            come = (
                f"SELECT CAST(NULL AS STRING), CAST(NULL AS BIGINT), {', '.join(values)} FROM {rows}"
                " LATERAL VIEW explode(sequence(1, copies)) AS copy WHERE copies > 0"
            )
            names, whole = self._row(columns)
            found = self.execute(
                f"MERGE INTO {self.to} AS {_THERE} USING ({gone} UNION ALL {come}) AS s"
                f" ON {_THERE}._file = s.file AND {_THERE}._pos = s.pos"
                f" WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({whole})"
            )
        _require(Counter(deletes=removed, inserts=added), found, self.name)
        return Counter(deleted=removed, inserted=added)

    def _sets(self, columns: Sequence[str]) -> str:
        """Return what an update sets; a column of the target is read only where some row has no value for it."""
        found = []
        for one in self.shape.columns:
            if f"a{one.id}" not in self.known.intersection(columns) or one in self.key:
                continue
            sql, name = f"s.a{one.id}", quote(one.name)
            if f"h{one.id}" in columns:
                sql = f"CASE WHEN coalesce(s.h{one.id}, true) THEN {sql} ELSE {_THERE}.{name} END"
            found.append(f"{_THERE}.{name} = {sql}")
        return ", ".join(found)

    def _row(self, columns: Sequence[str], key: str = "") -> tuple[str, str]:
        """Return the names of all columns, and the values of a new row. key: another value of its first column."""
        values = [self._inserted(one, columns) for one in self.shape.columns]
        if key:
            values[self.shape.columns.index(self.key[0])] = key
        return ", ".join(quote(one.name) for one in self.shape.columns), ", ".join(values)

    def _whole(self, columns: Sequence[str], key: str = "") -> str:
        """Return what an update sets that makes another row of one. key: as for `_row`."""
        values = {one: self._inserted(one, columns) for one in self.shape.columns}
        values |= {self.key[0]: key} if key else {}
        return ", ".join(f"{_THERE}.{quote(one.name)} = {sql}" for one, sql in values.items())

    def _inserted(self, column: Column, columns: Sequence[str]) -> str:
        """Return the value of a column of a new row.

        A row that is older than the column has there what the source shows, one that moves what the target has.
        """
        at, missing = f"a{column.id}", value(column.missing, column, self.shape.types)
        if at in self.known.intersection(columns):
            has = f"h{column.id}"
            return f"CASE WHEN coalesce(s.{has}, true) THEN s.{at} ELSE {missing} END" if has in columns else f"s.{at}"
        return f"CASE WHEN s.moved THEN s.{at} ELSE {missing} END" if "moved" in columns else missing


def _ranges(
    part: Sequence[Staged], key: Sequence[Column], types: Sequence[TypeDefinition], counts: Counter[str]
) -> list[str]:
    """Return SQL that is true for what the target may have of some rows: files with other keys are not read.

    types: those of the target's own. counts: by what is done with the rows.
    """
    asked = [one.ranges.get(kind, {}) for kind in +counts for one in part if one.counts.get(kind)]
    found = []
    for column in key:
        of = physical(column.type, types)
        if of in ("INT", "BIGINT") and all(column.id in one for one in asked):
            low, high = min(one[column.id][0] for one in asked), max(one[column.id][1] for one in asked)
            between = f"CAST('{low}' AS {of}) AND CAST('{high}' AS {of})"
            found.append(f"{_THERE}.{quote(column.name)} BETWEEN {between}")
    return found


def _require(wanted: Counter[str], found: Counter[str], name: TableName) -> None:
    """Raise an error where a MERGE has found other rows than the changes are about.

    A row with the key of a deleted one is found, where that one stays.
    """
    if wanted.total() == wanted["inserts"] and found.total() < wanted.total():
        raise KeyTaken(
            f"rows are in the target already: {wanted['inserts']} to insert, {found['inserts']} of them were not there",
            code="INT-102",
            table=name,
            hint=REPAIR,
        )
    if found.total() != wanted.total() or found["deletes"] != wanted["deletes"]:
        to_find, are = wanted.total() - wanted["inserts"], found.total() - wanted["inserts"]
        word = "are missing" if are < to_find else "exist more than once"
        raise RowsRefused(
            f"rows {word} in the target: {to_find} to update or delete, {are} found",
            code="INT-101",
            table=name,
            hint=REPAIR,
        )
