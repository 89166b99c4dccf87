"""Put a loaded shadow table in its place, in one transaction with the table's standing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.adapt.arrive import reshape
from airflow_ddlrepl.adapt.timeline import Standing
from airflow_ddlrepl.engines.postgres import state
from airflow_ddlrepl.engines.postgres.connect import errors
from airflow_ddlrepl.engines.postgres.constraints import prepare_session
from airflow_ddlrepl.engines.postgres.ddl import PostgresDdl, attach, create_table
from airflow_ddlrepl.engines.postgres.ddl_keys import key_sql
from airflow_ddlrepl.engines.postgres.ddl_types import create_schema, create_types
from airflow_ddlrepl.engines.postgres.dependants import dependants
from airflow_ddlrepl.engines.postgres.names import literal, qualified, quote
from airflow_ddlrepl.engines.postgres.present import Present
from airflow_ddlrepl.errors import CannotAdapt
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.postgres.connect import Connection

SCHEMA = "ddlrepl"


def make_shadow(connection: Connection[Any], table: Table, shadow: TableName) -> None:
    """An empty table of the wanted shape, without its key, where nobody looks. Types are created if missing."""
    with connection.transaction():
        for statement in create_types(table.types):
            connection.execute(statement.encode())
        connection.execute(f"DROP TABLE IF EXISTS {qualified(shadow)}".encode())
        for statement in create_table(table.with_(partition=None), shadow, with_key=False):
            connection.execute(statement.encode())


def finish_shadow(connection: Connection[Any], table: Table, shadow: TableName) -> None:
    """Its key and statistics, once it is loaded."""
    for statement in key_sql(table, shadow):
        connection.execute(statement.encode())
    connection.execute(f"ANALYZE {qualified(shadow)}".encode())


def put_in_place(
    connection: Connection[Any],
    channel: str,
    standing: Standing,
    shadow: TableName,
    *,
    previous: TableName | None,
    epoch: int,
    token: int,
    lock_timeout: str,
) -> str:
    """The shadow becomes the table, or its rows become the table's; says which. All or nothing.

    standing: as the table stands afterwards. previous: the table's name at the target before, if it is there.
    """
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = {literal(lock_timeout)}".encode())
        state.hold(cursor, channel, epoch=epoch, token=token)
        prepare_session(cursor)
        found = Present(connection).table(previous) if previous else None
        if found is not None:
            cursor.execute(f"LOCK TABLE {qualified(found.name)} IN ACCESS EXCLUSIVE MODE".encode())
        if found is None or found.name != standing.name:
            _make_way(cursor, standing)
        hanging = dependants(connection, found.name, has_key=found.key is not None) if found else []
        if found is not None and (hanging or found.is_partitioned):
            _exchange(cursor, found, standing.shape, shadow)
        else:
            _replace(cursor, found, standing.shape, shadow)
        state.write_standings(cursor, channel, {standing.table_id: standing})
        cursor.execute("DELETE FROM ddlrepl.chunks WHERE token = %s", [f"{token}"])
        reach("refresh.transaction")
    return f"contents exchanged, because of {', '.join(hanging)}" if hanging else "replaced"


def place_parent(connection: Connection[Any], channel: str, standing: Standing, *, epoch: int, token: int) -> None:
    """A partitioned table holds no rows: it is created, or stands already."""
    with connection.transaction(), connection.cursor() as cursor:
        state.hold(cursor, channel, epoch=epoch, token=token)
        found = Present(connection).table(standing.name)
        if found is None:
            for statement in [*create_types(standing.shape.types), *create_table(standing.shape)]:
                cursor.execute(statement.encode())
            if standing.shape.partition:
                cursor.execute(attach(standing.name, standing.shape.partition).encode())
        elif found.partition_key != standing.shape.partition_key:
            raise CannotAdapt(
                "the target's table is partitioned in another way",
                code="ADP-107",
                table=standing.name,
                hint="drop or rename the target's table; the next run creates it anew",
            )
        state.write_standings(cursor, channel, {standing.table_id: standing})


def _make_way(cursor: Any, standing: Standing) -> None:
    """A kept table of that name (dropped at the source) steps aside."""
    occupant = Present(cursor.connection).table(standing.name)
    if occupant is not None:
        aside = f"{standing.name.name[:40]}_kept_{occupant.id}"
        cursor.execute(f"ALTER TABLE {qualified(standing.name)} RENAME TO {quote(aside)}".encode())


def _replace(cursor: Any, old: Table | None, wanted: Table, shadow: TableName) -> None:
    if old is not None:
        cursor.execute(f"DROP TABLE {qualified(old.name)}".encode())
    for statement in create_schema(wanted.name.schema):
        cursor.execute(statement.encode())
    between = TableName(wanted.name.schema, shadow.name)
    cursor.execute(f"ALTER TABLE {qualified(shadow)} SET SCHEMA {quote(wanted.name.schema)}".encode())
    cursor.execute(f"ALTER TABLE {qualified(between)} RENAME TO {quote(wanted.name.name)}".encode())
    _name_key(cursor, wanted, shadow)
    if wanted.partition is not None:
        cursor.execute(attach(wanted.name, wanted.partition).encode())


def _name_key(cursor: Any, wanted: Table, shadow: TableName) -> None:
    """The key's index gets the name that the server would have given it under the table's own name, if it is free."""
    cursor.execute(
        "SELECT i.relname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid WHERE x.indrelid = %s::regclass",
        [qualified(wanted.name)],
    )
    names = [name for (name,) in cursor.fetchall() if name.startswith(shadow.name)]
    if wanted.key is None or len(names) != 1:
        return
    try:
        with cursor.connection.transaction():
            place = qualified(TableName(wanted.name.schema, names[0]))
            name = wanted.name.name.encode()[:58].decode(errors="ignore") + names[0].removeprefix(shadow.name)
            cursor.execute(f"ALTER INDEX {place} RENAME TO {quote(name)}".encode())
    except errors().DuplicateTable:
        return


def _exchange(cursor: Any, old: Table, wanted: Table, shadow: TableName) -> None:
    """Same table, new rows: what hangs on it stays."""
    for statement in reshape(old, wanted, PostgresDdl(cursor.connection.info.server_version // 10000)):
        _run(cursor, statement, old)
    names = ", ".join(quote(c.name) for c in wanted.columns if not c.generated)
    into = f"INSERT INTO {qualified(wanted.name)} ({names}) OVERRIDING SYSTEM VALUE"
    cursor.execute(f"{into} SELECT {names} FROM {qualified(shadow)}".encode())
    cursor.execute(f"DROP TABLE {qualified(shadow)}".encode())


def _run(cursor: Any, statement: str, table: Table) -> None:
    try:
        with cursor.connection.transaction():
            cursor.execute(statement.encode())
    except errors().FeatureNotSupported as error:
        if statement.startswith("TRUNCATE"):  # foreign keys point to the table
            cursor.execute(f"DELETE FROM {qualified(table.name)}".encode())
            return
        raise CannotAdapt(
            f"what hangs on the target's table does not let it change: {str(error).splitlines()[0]}",
            code="ADP-131",
            table=table.name,
            hint=f"drop the view or rule that needs the old shape, run again, create it anew; refused was: {statement}",
        ) from None
    except errors().DependentObjectsStillExist as error:
        raise CannotAdapt(
            f"what hangs on the target's table does not let it change: {' '.join(str(error).split())}",
            code="ADP-131",
            table=table.name,
            hint="drop what is named, run again, create it anew",
        ) from None
