"""The statements that bring a staged net change into its table. `t` is the target, `s` the staging table."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.engines.postgres.connection.quoting import qualified, quote
from airflow_ddlrepl.engines.postgres.connection.settings import SCHEMA
from airflow_ddlrepl.engines.postgres.merge.staging_tables import Stage, Staged, StagedColumn
from airflow_ddlrepl.model.names import TableName

_HASHABLE = frozenset(
    [
        *("smallint", "integer", "bigint", "boolean", "date", "uuid", "text", "oid"),
        *("timestamp without time zone", "timestamp with time zone", "time without time zone"),
    ]
)


def delete(staged: Staged, stage: Stage) -> str:
    """DELETES: rows that are gone. MOVES, UPDATES: rows that will be put back changed."""
    return f"DELETE FROM {qualified(staged.target)} t USING {staged.from_(stage)} s WHERE {_same_key(staged, stage)}"


def update(staged: Staged) -> str | None:
    """The one UPDATE of a table; None when it has nothing to set (every column belongs to the key)."""
    held = staged.held.get(Stage.UPDATES, ())
    sets = [
        f"{quote(column.name)} = {_held_or(column, held, f't.{quote(column.name)}')}"
        for column in staged.columns
        if column.is_set
    ]
    if not sets:
        return None
    return (
        f"UPDATE {qualified(staged.target)} t SET {', '.join(sets)}"
        f" FROM {staged.from_(Stage.UPDATES)} s WHERE {_same_key(staged, Stage.UPDATES)}"
    )


def drop_aside(staged: Staged, stage: Stage) -> str:
    """Once its rows are put back."""
    return f"DROP TABLE {aside(staged, stage)}"


def set_aside(staged: Staged, stage: Stage, row: str) -> str:
    """The target's rows as they are, every column, ours or not.

    row: name of a column that points to the staged row which changes it.
    """
    return (
        f"CREATE UNLOGGED TABLE {aside(staged, stage)} AS SELECT s.ctid AS {quote(row)}, t.*"
        f" FROM {qualified(staged.target)} t JOIN {staged.from_(stage)} s ON {_same_key(staged, stage)}"
    )


def put_back(staged: Staged, stage: Stage, row: str, columns: Sequence[str]) -> str:
    """Inserts the rows set aside, changed. columns: every column of the target that can be inserted."""
    ours = {column.name: column for column in staged.columns}
    held = staged.held.get(stage, ())
    values = [_held_or(ours[c], held, f"t.{quote(c)}") if c in ours else f"t.{quote(c)}" for c in columns]
    return (
        f"{_insert_into(staged, columns)} SELECT {', '.join(values)}"
        f" FROM {aside(staged, stage)} t JOIN {staged.from_(stage)} s ON s.ctid = t.{quote(row)}"
    )


def aside(staged: Staged, stage: Stage) -> str:
    """Where rows wait that are put back changed."""
    return qualified(TableName(SCHEMA, f"{staged.tables[stage]}a"))


def drop(staged: Staged) -> str:
    """Every table that staging made for it."""
    return f"DROP TABLE IF EXISTS {', '.join(qualified(TableName(SCHEMA, name)) for name in staged.stored)}"


def insert(staged: Staged) -> str:
    """New rows."""
    names, values = _new_row(staged)
    return f"{_insert_into(staged, names)} SELECT {', '.join(values)} FROM {staged.from_(Stage.INSERTS)} s"


def insert_copies(staged: Staged) -> str:
    """New rows of a table without a key, each as often as it came."""
    names, values = _new_row(staged)
    return (
        f"{_insert_into(staged, names)} SELECT {', '.join(values)}"
        f" FROM {staged.from_(Stage.ADDED)} s CROSS JOIN LATERAL generate_series(1, s.n)"
    )


def delete_copies(staged: Staged) -> str:
    """Exactly as many copies of each whole row as went."""
    return (
        f"DELETE FROM {qualified(staged.target)} WHERE ctid = ANY (ARRAY(SELECT copy.place FROM ("
        f"SELECT t.ctid AS place, s.n AS wanted, row_number() OVER (PARTITION BY s.ctid ORDER BY t.ctid) AS number"
        f" FROM {qualified(staged.target)} t JOIN {staged.from_(Stage.REMOVED)} s ON {_same_image(staged.columns)}"
        f") copy WHERE copy.number <= copy.wanted))"
    )


def _same_image(columns: Sequence[StagedColumn]) -> str:
    """Rows that look the same in every column.

    Plain columns compare as one-element arrays: NULLs are equal there, and a hash join can use it. The
    others compare by their text, which tells 1 from 1.00 and -0 from 0 and exists for json and points.
    """
    plain = [c for c in columns if c.target_type in _HASHABLE and not c.collation]
    parts = [f"ARRAY[t.{quote(c.name)}] = ARRAY[{c.image('s')}]" for c in plain]
    others = [c for c in columns if c not in plain]
    if others:
        ours = ", ".join(f"t.{quote(c.name)}" for c in others)
        text = f"ROW({ours})::text = ROW({', '.join(c.image('s') for c in others)})::text"
        parts.append(f"({text}) IS TRUE" if plain else text)
    return " AND ".join(parts) or "true"  # a table without columns


def _same_key(staged: Staged, stage: Stage) -> str:
    prefix = "c" if stage is Stage.UPDATES else "k"
    return " AND ".join(c.equals(f"t.{quote(c.name)}", c.value("s", prefix)) for c in staged.keys)


def _held_or(column: StagedColumn, held: Sequence[int], otherwise: str) -> str:
    value = column.value("s")
    return f"CASE WHEN s.h{column.id} THEN {value} ELSE {otherwise} END" if column.id in held else value


def _insert_into(staged: Staged, names: Sequence[str]) -> str:
    columns = f" ({', '.join(quote(name) for name in names)})" if names else ""
    return f"INSERT INTO {qualified(staged.target)}{columns} OVERRIDING SYSTEM VALUE"


def _new_row(staged: Staged) -> tuple[list[str], list[str]]:
    names = [column.name for column in staged.columns] + [name for name, _ in staged.fills]
    return names, [column.value("s") for column in staged.columns] + [sql for _, sql in staged.fills]
