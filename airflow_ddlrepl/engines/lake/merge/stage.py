"""This module writes rows that are ready to Parquet files of a lake's warehouse, in a task of any process.

Rows that are found by a key become one file, so that one MERGE takes them. Those whose key changes are a file of their
own, and so are the whole rows of a table without a key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.engines.lake.connection.warehouse import file_refusals
from airflow_ddlrepl.engines.lake.merge.evaluator import LakeEvaluator
from airflow_ddlrepl.engines.lake.types.arrow import arrow_type, each_held
from airflow_ddlrepl.engines.lake.types.physical import physical
from airflow_ddlrepl.engines.lake.types.read_texts import cut, required
from airflow_ddlrepl.engines.staging import Stager
from airflow_ddlrepl.integrate.netting.net_changes import NetRows
from airflow_ddlrepl.integrate.ready_rows import LeftOut, ReadyRows
from airflow_ddlrepl.integrate.stage_task import StageTask
from airflow_ddlrepl.integrate.steps.row_columns import RowColumn
from airflow_ddlrepl.ports.change_values import Converted
from airflow_ddlrepl.ports.row_evaluator import LoggedRows

DELETE, UPDATE, INSERT = 0, 1, 2
"""The values of the column `op` of a file with rows that are found by their key."""
OPERATION = "op"
COUNTED = {"deletes": DELETE, "updates": UPDATE, "inserts": INSERT}
Ranges = Mapping[str, Mapping[int, tuple[int, int]]]


@dataclass(frozen=True)
class Staged:
    """Staged rows are what one task's changes come to. key: ids of its columns; none of a table without one.

    files: the path of each kind of Parquet file: `rows` (with `op`), `moves`, `images` (with `copies`, a negative
    number of rows that go). Columns are named by the column's id: a value as `a1`, one before the change as `b1`, and
    as `h1` whether there is a value. types: Spark's names of the types of each file's columns. counts: rows by what is
    done with them. read: how many changes that was. left_out: what the target does not take of them.
    is_resilient: rows may be there already, or missing. deletion: the column that is true for deleted rows, which stay;
    empty: they don't. size: of the rows in memory, in bytes. ranges: the lowest and the highest value in `rows` of each
    column of the key that is an integer, by the column's id; those by what is done with the rows, as `counts` has it.
    """

    key: tuple[int, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict, repr=False)
    types: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    counts: Mapping[str, int] = field(default_factory=dict)
    read: int = 0
    left_out: LeftOut = field(default_factory=LeftOut)
    is_resilient: bool = False
    deletion: str = ""
    size: int = 0
    ranges: Ranges = field(default_factory=dict)


class LakeStager(Stager):
    """This stager has no session: it writes files, which the driver's session reads."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        return None

    def evaluator(self, task: StageTask) -> LakeEvaluator:
        return LakeEvaluator(task.values)

    def store(self, ready: ReadyRows) -> Staged:
        ids = {column.name: column.id for column in ready.plan.columns}
        by_key = () if ready.plan.is_history else ready.plan.key
        key = tuple(ids[one.name] for one in by_key if one.name in ids)
        made = {
            "rows": _by_key(ready.rows, [name for name, at in ids.items() if at in key]),
            "moves": ready.rows.moves,
            "images": _images(ready.rows),
        }
        held, place = _Held(ready), location_of(ready.task.dsn)
        files, types, size = {}, {}, 0
        ranges: Ranges = {}
        with file_refusals(ready.task.target_name):
            for kind, table in made.items():
                if table.num_rows:
                    rows, types[kind] = held.table(table)
                    size += rows.nbytes
                    ranges = key_ranges(rows, key) if kind == "rows" else ranges
                    files[kind] = f"{place.staging_folder}/{ready.task.stage_name}_{kind}.parquet"
                    with place.files.creating(files[kind]) as file:
                        pq.write_table(rows, file, compression="zstd", store_schema=False)
        counts = {
            "deletes": ready.rows.deletes.num_rows,
            "updates": ready.rows.updates.num_rows,
            "inserts": ready.rows.inserts.num_rows,
            "moves": ready.rows.moves.num_rows,
            "images": made["images"].num_rows,
        }
        is_resilient, deletion = ready.task.is_resilient, ready.plan.deletion
        return Staged(key, files, types, counts, ready.read, ready.left_out, is_resilient, deletion, size, ranges)


def key_ranges(rows: pa.Table, key: Sequence[int]) -> Ranges:
    """Return `ranges` of rows as `Staged` has them."""
    found: dict[str, dict[int, tuple[int, int]]] = {kind: {} for kind in COUNTED}
    numbers = {
        number: rows[f"a{number}"] for number in key if pa.types.is_integer(rows.schema.field(f"a{number}").type)
    }
    for kind, operation in COUNTED.items():
        is_wanted = pc.equal(rows[OPERATION], operation)
        for number, values in numbers.items():
            low, high = pc.min_max(values.filter(is_wanted)).values()
            if low.is_valid:
                found[kind][number] = low.as_py(), high.as_py()
    return found


def _by_key(rows: NetRows, key: list[str]) -> pa.Table:
    """Return deletes, updates and inserts as one table, with what is to be done in a column."""
    gone = rows.deletes
    if gone.num_rows:
        gone = gone.select([f"b_{name}" for name in key]).rename_columns([f"a_{name}" for name in key])
    parts = [(DELETE, gone), (UPDATE, rows.updates), (INSERT, rows.inserts)]
    found = [
        part.append_column(OPERATION, pa.array([operation] * part.num_rows, pa.int8()))
        for operation, part in parts
        if part.num_rows
    ]
    return pa.concat_tables(found, promote_options="default") if found else pa.table({})


def _images(rows: NetRows) -> pa.Table:
    """Return whole rows that come, and those that go with a negative number of copies."""
    gone = rows.removed
    if not gone.num_rows:
        return rows.added
    gone = gone.set_column(gone.num_columns - 1, "copies", pc.negate(gone["copies"]))
    return pa.concat_tables([gone, rows.added]) if rows.added.num_rows else gone


class _Held:
    """The values of a task's rows as the lake holds them."""

    def __init__(self, ready: ReadyRows) -> None:
        self.task = ready.task
        self.columns = {column.name: column for column in ready.plan.columns}

    def table(self, rows: pa.Table) -> tuple[pa.Table, dict[str, str]]:
        """Return rows under the ids of their columns, and Spark's names of their types."""
        found, types = {}, {}
        for name, values in zip(rows.column_names, rows.columns, strict=True):
            if name in ("copies", OPERATION):
                found[name], types[name] = values, "BIGINT" if name == "copies" else "TINYINT"
                continue
            side, column = name[0], self.columns[name[2:]]
            at = f"{side}{column.id}"
            types[at] = "BOOLEAN" if side == "h" else physical(column.target.type, self.task.target.types)
            found[at] = values if side == "h" else self._values(values, column, types[at])
        return pa.table(found), types

    def _values(self, values: pa.ChunkedArray, column: RowColumn, spark_type: str) -> pa.ChunkedArray:
        """Return values of a column as the lake holds them; those of changes are Arrow's already."""
        of_source, task = column.source, self.task
        if of_source is None:
            return values.cast(arrow_type(spark_type))
        if column.is_by_text or column.is_cut:
            rows = LoggedRows(pa.table({of_source.name: values}), task.table, {of_source.name: column.encoding})
            texts = LakeEvaluator(task.values).as_text(rows)[of_source.name]
            whole = cut(texts, column.target) if column.is_cut else texts
            return pa.chunked_array([required(whole, column.target, task.target.types)])

        def convert(chunk: pa.Array, wanted: pa.Field) -> Converted:
            return task.values.converted(chunk, column.encoding, of_source, wanted, task.table.types)

        return each_held(values, spark_type, convert, column.name)
