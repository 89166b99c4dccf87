"""This module writes chosen rows of a lake's table as the source has them, and no other, in one commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from airflow_ddlrepl.engines.comparing import RepairTask
from airflow_ddlrepl.engines.duckdb_sql.arrow import fetched, field_for
from airflow_ddlrepl.engines.duckdb_sql.instances import refused, spilling
from airflow_ddlrepl.engines.duckdb_sql.quoting import quote as duckdb_name
from airflow_ddlrepl.engines.duckdb_sql.source_rows import (
    KEYS,
    SOURCE,
    SourceRows,
    keep_keys,
    key_names,
    key_text,
    pairs_of,
)
from airflow_ddlrepl.engines.lake.catalog.metadata import columns_there
from airflow_ddlrepl.engines.lake.catalog.scan import LakeRows
from airflow_ddlrepl.engines.lake.catalog.window import Window
from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.engines.lake.connection.quoting import quote
from airflow_ddlrepl.engines.lake.connection.warehouse import file_refusals
from airflow_ddlrepl.engines.lake.merge.refusals import refusals
from airflow_ddlrepl.engines.lake.merge.staged_files import read
from airflow_ddlrepl.engines.lake.types.in_duckdb import duckdb_type
from airflow_ddlrepl.engines.lake.types.literals import value
from airflow_ddlrepl.engines.lake.types.physical import physical
from airflow_ddlrepl.errors import RowsRefused, TargetError
from airflow_ddlrepl.model.table import Column

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_GONE, _BATCH = "ddlrepl_gone", "ddlrepl_lake_batch"
_THERE, _COME, _OWN = "ddlrepl_there", "ddlrepl_come", "ddlrepl_own"


@contextmanager
def stage_repair(
    window: Window, task: RepairTask, in_flight: Callable[[], Iterable[str]], folder: str
) -> Iterator[str]:
    """Write the rows with the task's keys as the source has them in a window; yield what was done, as text.

    folder: the name of the folder for files of the rows, which is there inside the `with`. in_flight: as
    `RepairsRows.repair_rows` documents. Raises TargetError TGT-182.
    """
    path = f"{location_of(window.location).staging_folder}/{folder}"
    try:
        with refusals(task.state.name), file_refusals(task.state.name), spilling() as connection, refused():
            done = _Repair(window, task, connection, path).write(in_flight)
        yield done
    except RowsRefused as error:
        raise _not_by_row(task, error.message) from None
    finally:
        window.files.remove(path)


def _not_by_row(task: RepairTask, why: str) -> TargetError:
    return TargetError(
        f"rows that differ can't be written one by one: {why}",
        code="TGT-182",
        table=task.state.name,
        hint="`ddlrepl refresh --table` with this table (of the source) loads it whole",
    )


@dataclass
class _Repair:
    """A repair replaces the rows of the kept keys. What only the lake has of a row stays, by its key.

    All copies of a row that is there go, by the places where they are, and the source's row comes.
    """

    window: Window
    task: RepairTask
    connection: Connection
    folder: str

    def write(self, in_flight: Callable[[], Iterable[str]]) -> str:
        """Write the rows."""
        name, compared = self.task.state.name, self.task.compared
        pairs = pairs_of(compared)
        keep_keys(self.connection, self.task.keys)
        rows = SourceRows(self.connection, compared, pairs, duckdb_type, fails=True)
        rows.copy([f"{rows.key()} IN (FROM {KEYS})"])
        keep_keys(self.connection, set(self.task.keys) - set(in_flight()))
        columns = {ours.name: ours for _, ours in pairs}
        key = [columns[one] for one in key_names(compared)]
        table = self.window.table(name)
        there = columns_there(self.window.metadata(name), self.window.files)
        if unlike := [one.name for one in columns.values() if there.get(one.name) != self._spark_type(one)]:
            raise _not_by_row(self.task, f"the lake's table has no column {unlike[0]} of its type")
        self._find_gone(self.window.metadata(name), key)
        chosen = f"{SOURCE} WHERE {key_text(duckdb_name(one.name) for one in key)} IN (FROM {KEYS})"
        come = self._stored("come", chosen, list(columns.values()))
        gone = self._stored("gone", f"(SELECT DISTINCT * FROM {_GONE})", key)
        own = {one: self._missing(one, of) for one, of in there.items() if one not in columns}
        self._merge(table, (come, gone), (list(columns.values()), key), own)
        return self._summary([duckdb_name(one.name) for one in key], chosen)

    def _spark_type(self, column: Column) -> str:
        return physical(column.type, self.task.compared.shape.types)

    def _duckdb_type(self, column: Column) -> str:
        return duckdb_type(column.type, self.task.compared.shape.types)

    def _missing(self, name: str, of: str) -> str:
        """Return Spark's SQL for the value that a column of the lake's own has in a new row."""
        column = next((one for one in self.task.state.shape.columns if one.name == name), None)
        null = f"CAST(NULL AS {of})"
        return value(column.missing, column, self.task.state.shape.types) if column is not None else null

    def _find_gone(self, metadata: str, key: Sequence[Column]) -> None:
        """Gather the keys of the lake's rows that are chosen, with each copy."""
        names = [duckdb_name(one.name) for one in key]
        held = ", ".join(f"{name} {self._duckdb_type(one)}" for name, one in zip(names, key, strict=True))
        self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {_GONE} ({held})")
        for batch in LakeRows(metadata, self.window.files).batches({one.name: self._spark_type(one) for one in key}):
            self.connection.register(_BATCH, batch)
            self.connection.execute(
                f"INSERT INTO {_GONE} SELECT * FROM {_BATCH} WHERE {key_text(names)} IN (FROM {KEYS})"
            )
            self.connection.unregister(_BATCH)

    def _stored(self, name: str, rows: str, columns: Sequence[Column]) -> str:
        """Write rows to a file, whose columns are c0, c1 and so on; return its path. It is empty where no row is."""
        types = {f"c{place}": self._duckdb_type(one) for place, one in enumerate(columns)}
        values = {f"c{place}": duckdb_name(one.name) for place, one in enumerate(columns)}
        schema = pa.schema([pa.field(one, field_for(one, of).type) for one, of in types.items()])
        path = f"{self.folder}/{name}.parquet"
        with (
            self.window.files.creating(path) as file,
            pq.ParquetWriter(file, schema, compression="zstd", store_schema=False) as writer,
        ):
            for batch in fetched(self.connection, values, types, f"FROM {rows}"):
                writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))
        return path

    def _merge(
        self,
        table: str,
        files: tuple[str, str],
        columns: tuple[Sequence[Column], Sequence[Column]],
        own: Mapping[str, str],
    ) -> None:
        """Replace the rows in one commit. own: the lake's own columns, with the value of each in a new row."""
        spark = self.window.spark
        try:
            for view, path, of in zip((_COME, _GONE), files, columns, strict=True):
                types = {f"c{place}": self._spark_type(one) for place, one in enumerate(of)}
                read(spark, table, [path], types).createOrReplaceTempView(view)
            spark.sql(self._statement(table, *columns, own))
        finally:
            for view in (_COME, _GONE):
                spark.catalog.dropTempView(view)

    def _statement(self, table: str, columns: Sequence[Column], key: Sequence[Column], own: Mapping[str, str]) -> str:
        there = [f"{_THERE}.{quote(one.name)}" for one in key]
        same = " AND ".join(f"{one} = g.c{place}" for place, one in enumerate(there))
        found = f"FROM {table} AS {_THERE} JOIN {_GONE} AS g ON {same}"
        values = [f"c{place}" for place in range(len(columns))]
        kept = [f"o{place}" for place in range(len(own))]
        nulls = ", ".join(f"NULL AS {one}" for one in [*values, *kept])
        keys = [f"g.c{place}" for place in range(len(key))]
        firsts = ", ".join(f"first({_THERE}.{quote(name)}) AS {one}" for name, one in zip(own, kept, strict=True))
        at = [next(place for place, one in enumerate(columns) if one.id == part.id) for part in key]
        joined = " AND ".join(f"c.c{place} = o.k{number}" for number, place in enumerate(at))
        named = ", ".join(f"{one} AS k{place}" for place, one in enumerate(keys))
        before = f"SELECT {named}{', ' if firsts else ''}{firsts} {found} GROUP BY {', '.join(keys)}"
        mine = [
            f"CASE WHEN o.k0 IS NULL THEN {missing} ELSE o.{one} END AS {one}"
            for one, missing in zip(kept, own.values(), strict=True)
        ]
        come = ", ".join([*(f"c.{one}" for one in values), *mine])
        names = ", ".join(quote(name) for name in [*(one.name for one in columns), *own])
        inserted = ", ".join(f"s.{one}" for one in [*values, *kept])
        return (
            f"MERGE INTO {table} AS {_THERE} USING ("
            f"SELECT {_THERE}._file AS file, {_THERE}._pos AS pos, {nulls} {found}"
            f" UNION ALL SELECT CAST(NULL AS STRING), CAST(NULL AS BIGINT), {come} FROM {_COME} AS c"
            f" LEFT JOIN ({before}) AS o ON {joined}"
            f") AS s ON {_THERE}._file = s.file AND {_THERE}._pos = s.pos"
            f" WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({inserted})"
        )

    def _summary(self, key: Sequence[str], chosen: str) -> str:
        """Return what was done."""
        same = " AND ".join(f"s.{one} = g.{one}" for one in key)
        queries = (f"FROM {chosen}", f"FROM {_GONE}", f"FROM (FROM {chosen}) AS s SEMI JOIN {_GONE} AS g ON {same}")
        come, gone, updated = (self._count(query) for query in queries)
        return f"{come - updated} rows inserted, {updated} updated, {gone - updated} deleted"

    def _count(self, query: str) -> int:
        return int(self.connection.execute(f"SELECT count(*) {query}").fetchall()[0][0])
