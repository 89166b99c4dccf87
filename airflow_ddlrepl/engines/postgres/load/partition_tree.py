"""This module changes partitioned tables for a refresh, and exchanges all their partitions where rows are in the way.

A partition can't have other columns than its partitioned table. Where its rows can't have the new ones, the partitions
are detached, the empty partitioned table is altered, and the loaded ones are attached: in one transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_ddlrepl.adapt.plan.new_table import reshape
from airflow_ddlrepl.adapt.shape.alter_in_place import relayout
from airflow_ddlrepl.ddl.base.same_shape import partitioned_alike
from airflow_ddlrepl.engines.postgres.catalog.dependents import dependants
from airflow_ddlrepl.engines.postgres.catalog.server_facts import ServerFacts
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.quoting import qualified
from airflow_ddlrepl.engines.postgres.ddl.render import PostgresDdl, attach, create_table
from airflow_ddlrepl.engines.postgres.ddl.types import create_types
from airflow_ddlrepl.engines.postgres.load.swap import locked, put_in_place, refusals, with_added
from airflow_ddlrepl.engines.postgres.load.target_only_columns import added_columns
from airflow_ddlrepl.engines.postgres.target import state
from airflow_ddlrepl.engines.postgres.target.outbox import write_records
from airflow_ddlrepl.engines.postgres.target.release_sequences import release
from airflow_ddlrepl.engines.postgres.types.type_system import POSTGRES_TYPES
from airflow_ddlrepl.engines.target_state import Fence, Placing
from airflow_ddlrepl.errors import CannotAdapt
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.record import RefreshDone
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState


def place_parent(
    connection: Connection[Any], channel: str, table_state: TableState, recorded: Table | None, fence: Fence
) -> bool:
    """Create a partitioned table, which holds no rows, or change the columns of the one that exists.

    recorded: the shape that the channel gave it, if it did; its partitions are loaded again, then, and keep their old
    rows until that. Return False, with nothing changed, where these rows can't have the new columns.
    """
    with connection.transaction(), connection.cursor() as cursor:
        state.hold(cursor, channel, epoch=fence.epoch, token=fence.token)
        release(cursor, channel, [table_state.name])
        found = ServerFacts(connection).table(table_state.name)
        if found is None:
            _create(cursor, table_state.shape)
        elif not partitioned_alike(found, table_state.shape):
            raise CannotAdapt(
                "the target's table is partitioned in another way",
                code="ADP-107",
                table=table_state.name,
                hint="drop or rename the target's table; the next run creates it again",
            )
        else:
            with refusals(table_state.name, dependants(connection, found)):
                if not _alter_with_rows(cursor, found, recorded, table_state.shape):
                    return False
        _store(cursor, channel, table_state)
    return True


def exchange_tree(
    connection: Connection[Any],
    channel: str,
    parents: Sequence[tuple[TableState, Table | None]],
    leaves: Sequence[Placing],
    fence: Fence,
) -> list[str]:
    """Change partitioned tables and put the shadow tables of their partitions in place: all of it, or nothing.

    parents: the highest first, each with the shape that the channel gave it, if it did. Return how each leaf was put
    in place. Raises CannotAdapt ADP-131 where a partition that is not loaded has rows, and what `put_in_place` raises.
    """
    with connection.transaction(), connection.cursor() as cursor:
        state.hold(cursor, channel, epoch=fence.epoch, token=fence.token)
        root = parents[0][0].name
        cursor.execute(f"LOCK TABLE {qualified(root)} IN ACCESS EXCLUSIVE MODE".encode())
        for placing in leaves:
            there = locked(cursor, channel, placing.previous) if placing.previous else None
            if there is not None and there.partition is not None:
                with refusals(there.name, []):
                    cursor.execute(_detach(there).encode())
        _refuse_rows(cursor, root)
        for table_state, recorded in parents:
            found = ServerFacts(connection).table(table_state.name)
            with refusals(table_state.name, dependants(connection, found) if found else []):
                if found is None:
                    _create(cursor, table_state.shape)
                else:
                    _alter_empty(cursor, found, recorded, table_state.shape)
            _store(cursor, channel, table_state)
        return [_attached(cursor, channel, placing, fence) for placing in leaves]


def _attached(cursor: Any, channel: str, placing: Placing, fence: Fence) -> str:
    """Put a shadow table in place, and attach the table where it is still detached; return how it was done."""
    connection, name, partition = cursor.connection, placing.state.name, placing.state.shape.partition
    how = put_in_place(connection, channel, placing, fence)
    there = ServerFacts(connection).table(name)
    if partition is not None and there is not None and there.partition is None:
        with refusals(name, dependants(connection, there)):
            cursor.execute(attach(name, partition).encode())
    return how


def _create(cursor: Any, shape: Table) -> None:
    for statement in [*create_types(shape.types), *create_table(shape)]:
        cursor.execute(statement.encode())
    if shape.partition:
        cursor.execute(attach(shape.name, shape.partition).encode())


def _store(cursor: Any, channel: str, table_state: TableState) -> None:
    state.write_table_states(cursor, channel, {table_state.table_id: table_state})
    write_records(cursor, channel, [RefreshDone(table_state.table_id, 0)])


def _alter_with_rows(cursor: Any, found: Table, recorded: Table | None, wanted: Table) -> bool:
    """Change the columns of a partitioned table; return False where the rows in its partitions are in the way."""
    import psycopg

    render = PostgresDdl(cursor.connection.info.server_version // 10000)
    whole = with_added(wanted, added_columns(found, wanted, recorded))
    layout = relayout(found, recorded, whole, render, POSTGRES_TYPES)
    try:
        with cursor.connection.transaction():
            for statement in (*(sql for way in layout.before for sql in way[0]), *layout.after):
                cursor.execute(statement.encode())
    except (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.DatatypeMismatch, psycopg.errors.CannotCoerce):
        if recorded is None:
            raise
        return False
    return True


def _alter_empty(cursor: Any, found: Table, recorded: Table | None, wanted: Table) -> None:
    """Change the columns of a partitioned table that has no row."""
    render = PostgresDdl(cursor.connection.info.server_version // 10000)
    for statement in reshape(found, with_added(wanted, added_columns(found, wanted, recorded)), render, POSTGRES_TYPES):
        if not statement.startswith("TRUNCATE TABLE"):
            cursor.execute(statement.encode())


def _refuse_rows(cursor: Any, root: TableName) -> None:
    """Raise CannotAdapt ADP-131 where a partition still has rows: it is none of those that were loaded."""
    cursor.execute(f"SELECT tableoid::regclass::text FROM {qualified(root)} LIMIT 1".encode())
    if (row := cursor.fetchone()) is not None:
        raise CannotAdapt(
            f"the target's table can't take the new rows: its partition {row[0]} has rows and is not loaded again",
            code="ADP-131",
            table=root,
            hint="nothing was changed; detach that partition at the target, or refresh the source's whole table",
        )


def _detach(partition: Table) -> str:
    assert partition.partition is not None
    return f"ALTER TABLE {qualified(partition.partition.of_name)} DETACH PARTITION {qualified(partition.name)}"
