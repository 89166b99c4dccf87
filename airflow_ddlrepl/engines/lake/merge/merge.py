"""This module merges staged rows into a table of a lake: one MERGE for all rows of a section that keep their keys.

No table has a key that the lake enforces. Spark counts what a MERGE has found, so a row that is missing or is there
already is never passed over.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.engines.lake.connection.java import java_table
from airflow_ddlrepl.engines.lake.connection.quoting import quote
from airflow_ddlrepl.engines.lake.merge.refusals import refusals
from airflow_ddlrepl.engines.lake.merge.stage import DELETE, INSERT, UPDATE, Staged
from airflow_ddlrepl.engines.lake.types.literals import value
from airflow_ddlrepl.errors import KeyTaken, RowsRefused
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Column, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

REPAIR = "load the table again: ddlrepl refresh --table; ddlrepl compare shows which rows differ"
_COUNTED = "spark.merge-into.num-target-rows-"
_THERE = "ddlrepl_there"
"""The target's table in statements: by a name that no column has, Spark would take `name._file` for a part of one."""
_PLAIN_DATES = {"datetimeRebaseMode": "CORRECTED", "int96RebaseMode": "CORRECTED"}


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
        done = _Merge(spark, to, name, shape, part).run(counts) if counts.total() else Counter()
    done["changes"] += sum(one.read for one in part)
    return done


class _Merge:
    """A merge of one section: all of its buckets at once, as keys are in one bucket only."""

    def __init__(self, spark: SparkSession, to: str, name: TableName, shape: Table, part: Sequence[Staged]) -> None:
        self.spark, self.to, self.name, self.shape = spark, to, name, shape
        self.part = part
        self.key = [shape.column(i) for i in part[0].key]
        self.known = {column for kind in ("rows", "images") for column in self._types(kind)}
        self.is_resilient = any(one.is_resilient for one in part)

    def run(self, counts: Counter[str]) -> Counter[str]:
        if counts["images"]:
            return self._images()
        if counts["moves"]:
            return self._moving(counts)
        with self._view(self._read("rows")) as (rows, columns):
            found = self._merge_rows(rows, columns, counts)
        if not self.is_resilient:
            self._require(counts, found)
        return Counter(deleted=counts["deletes"], updated=counts["updates"], inserted=counts["inserts"])

    def _merge_rows(self, rows: str, columns: Sequence[str], counts: Counter[str]) -> Counter[str]:
        """Run one MERGE of rows that are found by their key. rows: the view of them. columns: it has."""
        clauses = []
        if counts["deletes"]:
            clauses.append(f"WHEN MATCHED AND s.op = {DELETE} THEN DELETE")
        writes = f"s.op <> {DELETE}" if self.is_resilient else f"s.op = {UPDATE}"
        comes = f"s.op <> {DELETE}" if self.is_resilient else f"s.op = {INSERT}"
        has_rows = bool(counts["updates"] or counts["inserts"])
        if (counts["updates"] or (has_rows and self.is_resilient)) and (sets := self._sets(columns)):
            clauses.append(f"WHEN MATCHED AND {writes} THEN UPDATE SET {sets}")
        if counts["inserts"] or (has_rows and self.is_resilient):
            names = ", ".join(quote(one.name) for one in self.shape.columns)
            values = ", ".join(self._inserted(one, columns) for one in self.shape.columns)
            clauses.append(f"WHEN NOT MATCHED AND {comes} THEN INSERT ({names}) VALUES ({values})")
        if not clauses:  # updates of columns that the target does not have
            return Counter(updates=counts["updates"])
        same = " AND ".join(f"{_THERE}.{quote(one.name)} = s.a{one.id}" for one in self.key)
        found = self._run(f"MERGE INTO {self.to} AS {_THERE} USING {rows} AS s ON {same} {' '.join(clauses)}")
        if not any("UPDATE SET" in clause for clause in clauses):
            found["updates"] = counts["updates"]
        return found

    def _moving(self, counts: Counter[str]) -> Counter[str]:
        """Merge rows of which some get another key: what these have in the target is read before any row is gone.

        All rows that go, or move away, are removed first: another row may take over a key.
        """
        moves, rest = self._read("moves"), self._read("rows")
        assert moves is not None, "there are rows that move"
        with self._view(moves) as (view, columns):
            whole = self.spark.sql(self._moved(view, columns)).localCheckpoint(True)
        gone = moves.selectExpr(f"CAST({DELETE} AS TINYINT) AS op", *(f"b{one.id} AS a{one.id}" for one in self.key))
        if rest is not None:
            gone = gone.unionByName(rest.where(f"op = {DELETE}").select(gone.columns))
        away = Counter(deletes=counts["deletes"] + counts["moves"])
        with self._view(gone) as (rows, columns):
            self._require(away, self._merge_rows(rows, columns, away))
        comes = whole if rest is None else whole.unionByName(rest.where(f"op <> {DELETE}"), allowMissingColumns=True)
        back = Counter(updates=counts["updates"], inserts=counts["inserts"] + counts["moves"])
        with self._view(comes) as (rows, columns):
            self._require(back, self._merge_rows(rows, columns, back))
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
        with self._view(self._read("images")) as (rows, columns):
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
            names = ", ".join(quote(one.name) for one in self.shape.columns)
            whole = ", ".join(self._inserted(one, columns) for one in self.shape.columns)
            found = self._run(
                f"MERGE INTO {self.to} AS {_THERE} USING ({gone} UNION ALL {come}) AS s"
                f" ON {_THERE}._file = s.file AND {_THERE}._pos = s.pos"
                f" WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({whole})"
            )
        self._require(Counter(deletes=removed, inserts=added), found)
        return Counter(deleted=removed, inserted=added)

    def _sets(self, columns: Sequence[str]) -> str:
        """Return what an update sets; a column of the target is read only where some row has no value for it."""
        found = []
        for one in self.shape.columns:
            if f"a{one.id}" not in self.known or one in self.key:
                continue
            sql, name = f"s.a{one.id}", quote(one.name)
            if f"h{one.id}" in columns:
                sql = f"CASE WHEN coalesce(s.h{one.id}, true) THEN {sql} ELSE {_THERE}.{name} END"
            found.append(f"{_THERE}.{name} = {sql}")
        return ", ".join(found)

    def _inserted(self, column: Column, columns: Sequence[str]) -> str:
        """Return the value of a column of a new row.

        A row that is older than the column has there what the source shows, one that moves what the target has.
        """
        at, missing = f"a{column.id}", value(column.missing, column, self.shape.types)
        if at in self.known:
            return f"s.{at}"
        return f"CASE WHEN s.moved THEN s.{at} ELSE {missing} END" if "moved" in columns else missing

    def _read(self, kind: str) -> DataFrame | None:
        """Return the staged rows of a kind; None: there are none."""
        paths = [str(one.files[kind]) for one in self.part if kind in one.files]
        if not paths:
            return None
        schema = ", ".join(f"{quote(name)} {of}" for name, of in self._types(kind).items())
        return self.spark.read.options(**_PLAIN_DATES).schema(schema).parquet(*paths)

    def _types(self, kind: str) -> dict[str, str]:
        """Return Spark's names of the types of all columns that some file of a kind has."""
        return {name: of for one in self.part for name, of in one.types.get(kind, {}).items()}

    @contextmanager
    def _view(self, rows: DataFrame | None) -> Iterator[tuple[str, list[str]]]:
        """Name rows for statements inside the `with`; yield that name, and the names of their columns."""
        assert rows is not None, "there are rows to be merged"
        name = f"ddlrepl_{uuid.uuid4().hex}"
        rows.createOrReplaceTempView(name)
        try:
            yield name, rows.columns
        finally:
            self.spark.catalog.dropTempView(name)

    def _run(self, statement: str) -> Counter[str]:
        """Run a MERGE; return how many rows it has deleted, updated and inserted."""
        before = self._snapshot()
        self.spark.sql(statement)
        now = self._snapshot()
        if now is None or (before is not None and now.snapshotId() == before.snapshotId()):
            return Counter()
        summary = now.summary()
        kinds = {"deletes": "deleted", "updates": "updated", "inserts": "inserted"}
        if f"{_COUNTED}inserted" not in summary:  # a MERGE that only inserts is run as an append
            return Counter(inserts=int(summary.get("added-records") or 0))
        return Counter({kind: int(summary[f"{_COUNTED}{word}"]) for kind, word in kinds.items()})

    def _snapshot(self) -> Any:
        return java_table(self.spark, self.to).currentSnapshot()

    def _require(self, wanted: Counter[str], found: Counter[str]) -> None:
        """Raise an error where a MERGE has found other rows than the changes are about."""
        for kind, verb in (("deletes", "delete"), ("updates", "update")):
            if wanted[kind] != found[kind]:
                word = "are missing" if found[kind] < wanted[kind] else "exist more than once"
                raise RowsRefused(
                    f"rows {word} in the target: {wanted[kind]} to {verb}, {found[kind]} found",
                    code="INT-101",
                    table=self.name,
                    hint=REPAIR,
                )
        if wanted["inserts"] != found["inserts"]:
            raise KeyTaken(
                f"rows are in the target already: {wanted['inserts']} to insert, {found['inserts']} of them were not"
                " there",
                code="INT-102",
                table=self.name,
                hint=REPAIR,
            )
