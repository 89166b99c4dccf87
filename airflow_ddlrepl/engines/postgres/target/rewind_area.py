"""This module manages the tables and types that a replay builds in a database.

What an earlier one has built is removed, and nothing of anybody else's is touched.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.driver import Connection, Cursor
from airflow_ddlrepl.engines.postgres.connection.errors import errors
from airflow_ddlrepl.engines.postgres.connection.quoting import qualified
from airflow_ddlrepl.errors import CannotRewind
from airflow_ddlrepl.model.names import TableName, displaced_name
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table_state import TableState, TableStatus

CREATE = """
CREATE TABLE IF NOT EXISTS ddlrepl.replayed_names (
    channel text NOT NULL, is_type boolean NOT NULL, schema_name text NOT NULL, name text NOT NULL,
    PRIMARY KEY (channel, is_type, schema_name, name));
CREATE TABLE IF NOT EXISTS ddlrepl.replayed (channel text PRIMARY KEY, made_as text NOT NULL, lsn pg_lsn NOT NULL);
"""
TABLES = ("replayed_names", "replayed")
_TAKEN = """
SELECT CASE WHEN c.relkind IN ('r', 'p') THEN 'table' ELSE 'relation' END, n.nspname, c.relname
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN unnest(%(schemas)s::text[], %(names)s::text[]) w(s, t) ON n.nspname = w.s AND c.relname = w.t
WHERE c.relkind <> 'c'
UNION ALL
SELECT 'type', n.nspname, t.typname
FROM pg_type t
JOIN pg_namespace n ON n.oid = t.typnamespace
JOIN unnest(%(type_schemas)s::text[], %(type_names)s::text[]) w(s, t) ON n.nspname = w.s AND t.typname = w.t
ORDER BY 1, 2, 3
"""
_TYPES_OF = """
WITH named AS (
    SELECT t.oid FROM pg_type t
    JOIN pg_namespace n ON n.oid = t.typnamespace
    JOIN unnest(%(type_schemas)s::text[], %(type_names)s::text[]) w(s, t) ON n.nspname = w.s AND t.typname = w.t
    UNION
    SELECT c.reltype FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN unnest(%(schemas)s::text[], %(names)s::text[]) w(s, t) ON n.nspname = w.s AND c.relname = w.t),
made_with AS (SELECT oid FROM named UNION SELECT r.rngmultitypid FROM pg_range r JOIN named ON named.oid = r.rngtypid)
SELECT n.nspname, t.typname FROM pg_type t
JOIN pg_namespace n ON n.oid = t.typnamespace
JOIN made_with m ON t.oid = m.oid OR t.typelem = m.oid AND t.typlen = -1
"""
_UNUSED = """
DELETE FROM ddlrepl.replayed_names r WHERE r.channel = %s AND NOT EXISTS (
    SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE NOT r.is_type AND n.nspname = r.schema_name AND c.relname = r.name
    UNION ALL
    SELECT FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
    WHERE r.is_type AND n.nspname = r.schema_name AND t.typname = r.name)
"""


@dataclass(frozen=True, slots=True)
class Obstacles:
    """Obstacles are objects under the names that a rewind needs that are not known to be an earlier rewind's.

    found: `table`, `type` or another `relation`, with its name. is_shared: the database has tables of others, too.
    """

    found: tuple[tuple[str, TableName], ...] = ()
    is_shared: bool = False

    def __str__(self) -> str:
        return ", ".join(f"{kind} {name}" for kind, name in self.found)

    def error(self) -> CannotRewind:
        """Return the error CannotRewind REW-105, which says what to do about the obstacles."""
        own = (
            "give the replay a database of its own; beside other tables it needs `schemas` of its own, and tables with"
            " user-defined types can't be there, because types stay in their schemas"
        )
        left = f"if an earlier rewind created them, before `ddlrepl deactivate`: {self._removal()}\n        else "
        return CannotRewind(
            f"objects that the rewind did not create exist where it would build its tables: {self}",
            code="REW-105",
            hint=own if self.is_shared else left + own,
        )

    def _removal(self) -> str:
        """Return the statements that remove the tables and types among the obstacles, tables first."""
        named = [(kind, qualified(name)) for kind, name in self.found]
        kinds = {kind: ", ".join(name for of, name in named if of == kind) for kind in ("table", "type")}
        return "; ".join(f"DROP {kind.upper()} {names}" for kind, names in kinds.items() if names)


NONE = Obstacles()


def reserve(cursor: Cursor[Any], holder: str, tables: Iterable[TableName], types: Iterable[TableName]) -> None:
    """Reserve names for a replay: tables and types that are created under them are known as the replay's.

    Raises CannotRewind REW-105, which undoes the open transaction, when an object has such a name now that is not the
    replay's: it would be emptied, altered or renamed.
    """
    wanted, spelled = set(tables) - _reserved(cursor, holder, False), set(types) - _reserved(cursor, holder, True)
    if (obstacles := _obstacles(cursor, holder, wanted, spelled)).found:
        raise obstacles.error()
    rows = [(holder, is_type, *name) for is_type, names in ((False, wanted), (True, spelled)) for name in names]
    if rows:
        cursor.executemany("INSERT INTO ddlrepl.replayed_names VALUES (%s, %s, %s, %s)", rows)


def in_the_way(
    connection: Connection[Any], holder: str, names: tuple[set[TableName], set[TableName]], ours: Collection[TableName]
) -> Obstacles:
    """Return the objects that a rewind would find under the names of its tables and types and may not remove.

    Changes nothing. ours: tables that the rewind removes first; what it reserved before goes with them (`clear`).
    """
    tables, types = names
    with connection.cursor() as cursor:
        gone, spelled = set(ours), set[TableName]()
        if _exists(cursor, "ddlrepl.replayed_names"):
            gone |= _reserved(cursor, holder, False)
            spelled |= _reserved(cursor, holder, True)
            spelled |= set(_stepped_aside(cursor, spelled))
        return _obstacles(cursor, holder, tables - gone, types - spelled - _types_of(cursor, gone, spelled))


def _obstacles(
    cursor: Cursor[Any], holder: str, tables: Collection[TableName], types: Collection[TableName]
) -> Obstacles:
    taken = cursor.execute(_TAKEN, _spelled(tables, types)).fetchall()
    found = tuple((kind, TableName(*name)) for kind, *name in taken)
    return Obstacles(found, bool(found) and _is_shared(cursor, holder))


def _types_of(cursor: Cursor[Any], tables: Collection[TableName], types: Collection[TableName]) -> set[TableName]:
    """Return the types that are dropped with these tables and types: rows', multiranges, and arrays of each."""
    return {TableName(*row) for row in cursor.execute(_TYPES_OF, _spelled(tables, types)).fetchall()}


def _spelled(tables: Collection[TableName], types: Collection[TableName]) -> dict[str, list[str]]:
    """Return the parameters of a query about names."""
    return {
        "schemas": [name.schema for name in tables],
        "names": [name.name for name in tables],
        "type_schemas": [name.schema for name in types],
        "type_names": [name.name for name in types],
    }


def _is_shared(cursor: Cursor[Any], holder: str) -> bool:
    """Does a target or a replay of another channel have its state in this database, too?"""
    if not _exists(cursor, "ddlrepl.position"):
        return False
    row = cursor.execute("SELECT EXISTS (SELECT FROM ddlrepl.position WHERE channel <> %s)", [holder]).fetchone()
    return bool(row and row[0])


def _exists(cursor: Cursor[Any], relation: str) -> bool:
    row = cursor.execute("SELECT to_regclass(%s) IS NOT NULL", [relation]).fetchone()
    return bool(row and row[0])


def clear(cursor: Cursor[Any], holder: str, table_states: Iterable[TableState]) -> None:
    """Drop these tables, others that were made with them, and their types, in the open transaction; no type in use.

    Raises CannotRewind REW-104 when an object that is not ours depends on a table.
    """
    known = {table_state.name for table_state in table_states if table_state.state is not TableStatus.NEW}
    drop_tables(cursor, known | _reserved(cursor, holder, False))
    types = _reserved(cursor, holder, True)
    _drop_types(cursor, [*types, *_stepped_aside(cursor, types)])
    forget(cursor, holder)


def drop_tables(cursor: Cursor[Any], names: Iterable[TableName]) -> None:
    """Drop tables in the open transaction.

    Raises CannotRewind REW-104 when an object that is not ours depends on one.
    """
    for name in sorted(names):
        try:
            with cursor.connection.transaction():
                cursor.execute(f"DROP TABLE IF EXISTS {qualified(name)}".encode())
        except errors().DependentObjectsStillExist as error:
            raise CannotRewind(
                f"a table of an earlier rewind can't be removed: {' '.join(str(error).split())}",
                code="REW-104",
                table=name,
                hint="drop the objects that depend on it",
            ) from None


def _reserved(cursor: Cursor[Any], holder: str, is_type: bool) -> set[TableName]:
    """Return the names that are reserved for the replay, of tables or of types; objects under them are the replay's."""
    query = "SELECT schema_name, name FROM ddlrepl.replayed_names WHERE channel = %s AND is_type = %s"
    return {TableName(*row) for row in cursor.execute(query, [holder, is_type]).fetchall()}


def _stepped_aside(cursor: Cursor[Any], types: Collection[TableName]) -> list[TableName]:
    """Return the types that were renamed so that another one could get their name (`ddl.types`)."""
    query = (
        "SELECT n.nspname, t.typname, t.oid::bigint FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace"
        " LEFT JOIN pg_class c ON c.oid = t.typrelid WHERE n.nspname = ANY (%s)"
        " AND (t.typtype IN ('e', 'd', 'r') OR c.relkind = 'c')"
    )
    found = cursor.execute(query, [[of.schema for of in types]]).fetchall()
    return [
        TableName(schema, name)
        for schema, name, oid in found
        if any(TableName(schema, name) == TableName(of.schema, displaced_name(of.name, oid)) for of in types)
    ]


def _drop_types(cursor: Cursor[Any], names: Sequence[TableName]) -> None:
    """Drop types, again and again as long as one can be dropped: a type may be made of others."""
    left = list(names)
    while left:
        remaining = [name for name in left if not _is_dropped(cursor, name)]
        if len(remaining) == len(left):
            return
        left = remaining


def _is_dropped(cursor: Cursor[Any], name: TableName) -> bool:
    try:
        with cursor.connection.transaction():
            cursor.execute(f"DROP TYPE IF EXISTS {qualified(name)}".encode())
    except errors().DependentObjectsStillExist:
        return False
    return True


def finished(connection: Connection[Any], holder: str, made_as: str) -> Position | None:
    """Return the position up to which a finished replay made in this way has come; None: there is no such one."""
    query = "SELECT lsn::text FROM ddlrepl.replayed WHERE channel = %s AND made_as = %s"
    row = connection.execute(query, [holder, made_as]).fetchone()
    return Position.parse(row[0]) if row else None


def finish(cursor: Cursor[Any], holder: str, made_as: str, high: Position) -> None:
    """Store that the replay has come to its end, at `high`, from where it may go on."""
    cursor.execute(
        "INSERT INTO ddlrepl.replayed VALUES (%s, %s, %s::pg_lsn)"
        " ON CONFLICT (channel) DO UPDATE SET made_as = excluded.made_as, lsn = excluded.lsn",
        [holder, made_as, str(high)],
    )
    free(cursor, holder)


def free(cursor: Cursor[Any], holder: str) -> None:
    """Give up the names that the replay has reserved and not used."""
    cursor.execute(_UNUSED, [holder])


def forget(cursor: Cursor[Any] | Connection[Any], holder: str) -> None:
    """Delete all records of a replay."""
    for table in TABLES:
        cursor.execute(f"DELETE FROM ddlrepl.{table} WHERE channel = %s".encode(), [holder])
