"""This module writes the statements that bring a staged net change into its table.

`t` is the target, `s` the staging table.
"""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.engines.postgres.connection.quoting import qualified, quote
from airflow_ddlrepl.engines.postgres.connection.settings import SCHEMA
from airflow_ddlrepl.engines.postgres.merge.staging_tables import Stage, Staged, StagedColumn
from airflow_ddlrepl.mapping.extra_columns import value_of
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.model.table import Table

_HASHABLE = frozenset(
    [
        *("smallint", "integer", "bigint", "boolean", "date", "uuid", "text", "oid"),
        *("timestamp without time zone", "timestamp with time zone", "time without time zone"),
    ]
)


def delete(staging: Staged, stage: Stage) -> str:
    """Return the statement that deletes the rows of a stage from the target.

    DELETES: rows that are gone. MOVES, UPDATES: rows that will be put back changed.
    """
    return f"DELETE FROM {staging.there} t USING {staging.from_(stage)} s WHERE {_same_key(staging, stage)}"


def forget_deleted(staging: Staged, stage: Stage) -> str:
    """Return the statement that removes rows marked as deleted whose keys rows of this stage get."""
    where = f"{_new_key(staging)} AND t.{quote(staging.deletion)}"
    return f"DELETE FROM {staging.there} t USING {staging.from_(stage)} s WHERE {where}"


def mark_all_deleted(rows: str, flag: str, at: tuple[str, str] | None) -> str:
    """Return the statement that marks rows as deleted. rows: see `rows_of`. at: column for the moment, and its SQL."""
    sets = f"{quote(flag)} = true" + (f", {quote(at[0])} = {at[1]}" if at else "")
    return f"UPDATE {rows} SET {sets} WHERE NOT {quote(flag)}"


def note_truncate(shape: Table, name: TableName, of: tuple[LogKey, int, int | None]) -> str:
    """Return the statement that adds the row of a TRUNCATE to a table with a row per change.

    of: its place in the log, its commit's time (microseconds since 1970, UTC), its transaction's number if it has one.
    """
    key, committed, xid = of
    values = {
        "operation": "'truncate'",
        "position": f"{int(key.lsn)}",
        "sequence": f"{key.seq}",
        "commit_time": f"to_timestamp(0) + {committed} * interval '1 microsecond'",
        "transaction": "NULL" if xid is None else f"{xid}",
    }
    plain = [column for column in shape.columns if not column.generated]
    names = ", ".join(quote(column.name) for column in plain)
    cast = ", ".join(f"CAST({values.get(value_of(column), 'NULL')} AS {column.type.text})" for column in plain)
    return f"INSERT INTO {qualified(name)} ({names}) VALUES ({cast})"


def update(staging: Staged, stage: Stage = Stage.UPDATES) -> str | None:
    """Return the one UPDATE of a table; None when it has nothing to set (every column belongs to the key)."""
    held = staging.held.get(stage, ())
    sets = [
        f"{quote(column.name)} = {_held_or(column, held, f't.{quote(column.name)}')}"
        for column in staging.columns
        if column.is_set
    ]
    if not sets:
        return None
    return (
        f"UPDATE {staging.there} t SET {', '.join(sets)}"
        f" FROM {staging.from_(stage)} s WHERE {_same_key(staging, stage)}"
    )


def drop_aside(staging: Staged, stage: Stage) -> str:
    """Return the statement that drops the table of rows set aside, once they are put back."""
    return f"DROP TABLE {aside(staging, stage)}"


def set_aside(staging: Staged, stage: Stage, row: str) -> str:
    """Return the statement that copies the target's rows of a stage aside as they are, with every column, ours or not.

    row: name of a column that points to the staged row which changes it.
    """
    return (
        f"CREATE UNLOGGED TABLE {aside(staging, stage)} AS SELECT s.ctid AS {quote(row)}, t.*"
        f" FROM {staging.there} t JOIN {staging.from_(stage)} s ON {_same_key(staging, stage)}"
    )


def put_back(staging: Staged, stage: Stage, row: str, columns: Sequence[str]) -> str:
    """Return the statement that inserts the rows set aside, changed.

    columns: every column of the target that can be inserted.
    """
    ours = {column.name: column for column in staging.columns}
    held = staging.held.get(stage, ())
    values = [_held_or(ours[c], held, f"t.{quote(c)}") if c in ours else f"t.{quote(c)}" for c in columns]
    return (
        f"{_insert_into(staging, columns)} SELECT {', '.join(values)}"
        f" FROM {aside(staging, stage)} t JOIN {staging.from_(stage)} s ON s.ctid = t.{quote(row)}"
    )


def aside(staging: Staged, stage: Stage) -> str:
    """Return the name of the table in which rows wait that are put back changed."""
    return qualified(TableName(SCHEMA, f"{staging.tables[stage]}a"))


def drop(staging: Staged) -> str:
    """Return the statement that drops every staging table of a staged change."""
    return f"DROP TABLE IF EXISTS {', '.join(qualified(TableName(SCHEMA, name)) for name in staging.stored)}"


def insert(staging: Staged) -> str:
    """Return the statement that inserts new rows."""
    names, values = _new_row(staging)
    return f"{_insert_into(staging, names)} SELECT {', '.join(values)} FROM {staging.from_(Stage.INSERTS)} s"


def insert_missing(staging: Staged, stage: Stage) -> str:
    """Return the statement that inserts those rows of a stage whose keys the target does not have."""
    there = f"SELECT FROM {staging.there} t WHERE {_new_key(staging)}"
    names, values = _new_row(staging)
    rows = f"SELECT {', '.join(values)} FROM {staging.from_(stage)} s WHERE NOT EXISTS ({there})"
    return f"{_insert_into(staging, names)} {rows}"


def insert_copies(staging: Staged) -> str:
    """Return the statement that inserts new rows of a table without a key, each as often as it came."""
    names, values = _new_row(staging)
    return (
        f"{_insert_into(staging, names)} SELECT {', '.join(values)}"
        f" FROM {staging.from_(Stage.ADDED)} s CROSS JOIN LATERAL generate_series(1, s.n)"
    )


def delete_copies(staging: Staged) -> str:
    """Return the statement that deletes exactly as many copies of each whole row as were deleted at the source."""
    return (
        f"DELETE FROM {staging.there} WHERE ctid = ANY (ARRAY(SELECT copy.place FROM ("
        f"SELECT t.ctid AS place, s.n AS wanted, row_number() OVER (PARTITION BY s.ctid ORDER BY t.ctid) AS number"
        f" FROM {staging.there} t JOIN {staging.from_(Stage.REMOVED)} s ON {same_image(staging.columns)}"
        f") copy WHERE copy.number <= copy.wanted))"
    )


def same_image(columns: Sequence[StagedColumn], prefix: str = "c") -> str:
    """Return SQL that is true for rows that look alike in every column. prefix: `k`: as the staged row was before.

    Plain columns compare as one-element arrays: NULLs are equal there, and a hash join can use it. The
    others compare by their text, which differs for 1 and 1.00, for -0 and 0, and exists for json and points.
    """
    plain = [c for c in columns if c.target_type in _HASHABLE and not c.collation]
    parts = [f"ARRAY[t.{quote(c.name)}] = ARRAY[{c.image('s', prefix)}]" for c in plain]
    others = [c for c in columns if c not in plain]
    if others:
        ours = ", ".join(f"t.{quote(c.name)}" for c in others)
        text = f"ROW({ours})::text = ROW({', '.join(c.image('s', prefix) for c in others)})::text"
        parts.append(f"({text}) IS TRUE" if plain else text)
    return " AND ".join(parts) or "true"  # a table without columns


def _same_key(staging: Staged, stage: Stage) -> str:
    """Return SQL that is true for the target's row of a staged one; by its range the server reads no others."""
    parts = [key_is(staging, stage.key_prefix)]
    if stage in staging.ranges:
        (key,), (low, high) = staging.keys, staging.ranges[stage]
        parts.append(f"t.{quote(key.name)} BETWEEN CAST('{low}' AS {key.target_type}) AND '{high}'")
    if staging.deletion:
        parts.append(f"NOT t.{quote(staging.deletion)}")
    return " AND ".join(parts)


def _new_key(staging: Staged) -> str:
    return key_is(staging, "c")


def key_is(staging: Staged, prefix: str) -> str:
    """Return SQL that is true for the target's row of a staged one. prefix: `k`: by the key that it had before."""
    return " AND ".join(c.equals(f"t.{quote(c.name)}", c.value("s", prefix)) for c in staging.keys)


def _held_or(column: StagedColumn, flagged: Sequence[int], otherwise: str) -> str:
    value = column.value("s")
    return f"CASE WHEN s.h{column.id} THEN {value} ELSE {otherwise} END" if column.id in flagged else value


def _insert_into(staging: Staged, names: Sequence[str]) -> str:
    columns = f" ({', '.join(quote(name) for name in names)})" if names else ""
    return f"INSERT INTO {qualified(staging.target)}{columns} OVERRIDING SYSTEM VALUE"


def _new_row(staging: Staged) -> tuple[list[str], list[str]]:
    names = [column.name for column in staging.columns] + [name for name, _ in staging.fills]
    return names, [column.value("s") for column in staging.columns] + [sql for _, sql in staging.fills]
