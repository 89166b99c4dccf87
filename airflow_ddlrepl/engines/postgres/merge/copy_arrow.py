"""This module copies Arrow tables into staging tables by COPY BINARY, all of one task in one transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.engines.postgres.connection.connect import arrow_connection
from airflow_ddlrepl.engines.postgres.connection.errors import passing
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, qualified, quote
from airflow_ddlrepl.engines.postgres.connection.read_errors import MISSING_HERE, is_unreadable
from airflow_ddlrepl.engines.postgres.connection.settings import SCHEMA
from airflow_ddlrepl.engines.postgres.merge.inline_rows import CHAR, NUMERIC_OID, WRAPPED
from airflow_ddlrepl.engines.postgres.merge.staging_tables import Stage
from airflow_ddlrepl.errors import RowsRefused, UnreadableRows
from airflow_ddlrepl.model.names import MAX_NAME_BYTES, TableName

BATCH_ROWS = 1 << 16
ANALYZE_ROWS = 50_000
ANALYZE_KEYS = 5_000
AT_ONCE = 1000  # of ten thousand tables a server can't take one question


@contextmanager
def loading(dsn: str, table: Callable[[], TableName], name: str = "ddlrepl integrate") -> Iterator[Any]:
    """Open one transaction at the target and yield its cursor; committed at the end, rolled back on an error.

    RowsRefused INT-120: the target refuses a statement. UnreadableRows INT-105: a value that it is to look at is none
    there. table: the one that is at work when an error comes. name: of the session, as pg_stat_activity shows it.
    """
    connection = arrow_connection(dsn)
    try:
        connection.adbc_connection.set_autocommit(False)
        cursor = connection.cursor()
        try:
            cursor.execute(f"SET application_name = {literal(name)}")
            yield cursor
            connection.adbc_connection.commit()
        finally:
            cursor.close()
    except (connection.Error, pa.ArrowException) as error:
        if (trouble := passing(error, "the target")) is not None:
            raise trouble from None
        if is_unreadable(error):
            raise UnreadableRows(
                f"the target refuses rows: {' '.join(str(error).split())}",
                code="INT-105",
                table=table(),
                hint=MISSING_HERE,
            ) from None
        raise RowsRefused(
            f"the target does not take the staged rows: {' '.join(str(error).split())}",
            code="INT-120",
            table=table(),
            hint="see the target's log; the task can be run again",
            retryable=True,
        ) from None
    finally:
        connection.close()


def drop_stages(cursor: Any, names: Sequence[str]) -> None:
    """Drop staging tables; those that do not exist don't matter."""
    if names:
        tables = ", ".join(qualified(TableName(SCHEMA, name)) for name in names)
        cursor.execute(f"DROP TABLE IF EXISTS {tables}")


def require_rows(cursor: Any, names: Sequence[str]) -> None:
    """Raise RowsRefused INT-121 when a staging table has no rows.

    Staging tables are not logged: a server that crashed since they were filled has emptied them. cursor: of psycopg.
    """
    for at in range(0, len(names), AT_ONCE):
        looks = (
            f"SELECT {literal(name)} WHERE NOT EXISTS (SELECT FROM {qualified(TableName(SCHEMA, name))})"
            for name in names[at : at + AT_ONCE]
        )
        cursor.execute(" UNION ALL ".join(looks).encode())
        if row := cursor.fetchone():
            raise RowsRefused(
                f"the staged rows are gone ({row[0]}): the target was restarted after a crash",
                code="INT-121",
                hint="nothing was merged; the next run stages them again",
                retryable=True,
            )


def load(
    cursor: Any, name: str, columns: Sequence[tuple[str, str]], rows: pa.Table, keys: Sequence[str] | None = None
) -> None:
    """Create a staging table and fill it.

    keys: the columns by which it will be joined to a table of the target; none: by none. None: it is not known.
    Without statistics of these the server reads that whole table for a few rows.

    columns: (name, SQL type) in the order of the rows' columns.
    The type `numeric[1]` takes numeric send bytes and stores them as one-element arrays; `"char"` is stored as text.
    """
    table = qualified(TableName(SCHEMA, name))
    body = ", ".join(f"{quote(column)} {'text' if type_ == CHAR else type_}" for column, type_ in columns)
    cursor.execute(f"CREATE UNLOGGED TABLE {table} ({body}) WITH (autovacuum_enabled = false)")
    arrays = [packed(values, type_) for values, (_, type_) in zip(rows.columns, columns)]
    ready = pa.table(arrays, names=[column for column, _ in columns])
    cursor.adbc_ingest(name, ready.to_reader(BATCH_ROWS), mode="append", db_schema_name=SCHEMA)
    if keys != () and rows.num_rows >= (ANALYZE_ROWS if keys is None else ANALYZE_KEYS):
        # Where the server can't, its plan is a guess, and the rows are the same.
        of = f" ({', '.join(map(quote, keys))})" if keys else ""
        cursor.execute(f"DO $do$ BEGIN ANALYZE {table}{of}; EXCEPTION WHEN OTHERS THEN NULL; END $do$")


def packed(values: pa.ChunkedArray, type_: str) -> pa.ChunkedArray:
    """Return values in the form that ADBC copies exactly into a column of this type."""
    if pa.types.is_fixed_size_binary(values.type):
        return values.cast(pa.binary())
    if type_ == WRAPPED and pa.types.is_binary(values.type):
        return pa.chunked_array([_one_element_arrays(chunk) for chunk in values.chunks], pa.binary())
    if type_ == CHAR:
        return pc.replace_substring(values, "\0", "")
    return values


def _one_element_arrays(values: pa.Array) -> pa.Array:
    """Convert the send format of a numeric into the send format of the numeric[] with only that element."""
    heads = np.zeros((len(values), 6), ">i4")  # dimensions, has nulls, element type, size, lower bound, length
    heads[:] = (1, 0, NUMERIC_OID, 1, 1, 0)
    heads[:, 5] = pc.fill_null(pc.binary_length(values), 0).to_numpy(zero_copy_only=False)
    ends = np.arange(len(values) + 1, dtype=np.int32) * 24
    head = pa.Array.from_buffers(pa.binary(), len(values), [None, pa.py_buffer(ends), pa.py_buffer(heads)])
    return pc.binary_join_element_wise(head, values, b"")


def all_names(stage_name: str) -> list[str]:
    """Return the names of all staging tables that a task with this stage name may make."""
    stages = [*Stage, "k", "q", f"{Stage.UPDATES}a", f"{Stage.MOVES}a"]
    return [stage_table(stage_name, stage) for stage in stages]


def stage_table(stage_name: str, stage: str) -> str:
    """Return the name of one staging table; a long stage name is shortened by its hash."""
    raw = stage_name.encode()
    if len(raw) > MAX_NAME_BYTES - 3:
        stage_name = raw[:40].decode(errors="ignore") + "_" + hashlib.sha256(raw).hexdigest()[:16]
    return f"{stage_name}_{stage}"
