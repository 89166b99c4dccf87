"""This module puts a loaded shadow table in its place, in one transaction with the table's state.

Where nothing depends on the target's table, the shadow takes its place. Where something does, the table stays and gets
the shadow's rows. With -gr it stays, and gets those that differ. In any case a reader sees the old rows up to the
commit, and the new ones after it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from airflow_ddlrepl.adapt.plan.dropped_table import aside_name
from airflow_ddlrepl.adapt.plan.new_table import reshape
from airflow_ddlrepl.adapt.shape.alter_in_place import relayout
from airflow_ddlrepl.engines.differing import NotByRange
from airflow_ddlrepl.engines.loading import FinishTask, LoadedChunk
from airflow_ddlrepl.engines.postgres.catalog.dependents import dependants, is_referenced
from airflow_ddlrepl.engines.postgres.catalog.object_names import grant_defaults, name_parts
from airflow_ddlrepl.engines.postgres.catalog.server_facts import ServerFacts
from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import CONTENTION, passing
from airflow_ddlrepl.engines.postgres.connection.quoting import qualified, quote, rows_of
from airflow_ddlrepl.engines.postgres.ddl.keys import key_sql
from airflow_ddlrepl.engines.postgres.ddl.render import PostgresDdl, attach, create_table
from airflow_ddlrepl.engines.postgres.ddl.types import create_schema, create_types
from airflow_ddlrepl.engines.postgres.load.load_chunk import finish
from airflow_ddlrepl.engines.postgres.load.row_by_row import Exchange, Written, by_row
from airflow_ddlrepl.engines.postgres.load.target_only_columns import (
    added_columns,
    carry_over,
    refuse_clash,
    retain_deleted,
    retain_values,
)
from airflow_ddlrepl.engines.postgres.merge.constraints import (
    GRANT,
    Session,
    deferred,
    prepare_session,
    refuse_cascades,
    resting,
)
from airflow_ddlrepl.engines.postgres.merge.statements import note_truncate
from airflow_ddlrepl.engines.postgres.target import load_marks, state
from airflow_ddlrepl.engines.postgres.target.discarded_rows import found_by, placed
from airflow_ddlrepl.engines.postgres.target.outbox import write_records
from airflow_ddlrepl.engines.postgres.target.release_sequences import release
from airflow_ddlrepl.engines.postgres.types.type_system import POSTGRES_TYPES
from airflow_ddlrepl.engines.target_state import Fence, Placing
from airflow_ddlrepl.errors import CannotAdapt, TargetError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.record import RefreshDeclined, RefreshDone
from airflow_ddlrepl.model.table import Column, Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.model.target_columns import history_columns

log = logging.getLogger("ddlrepl")


def renew_types(connection: Connection[Any], statements: Sequence[str]) -> None:
    """Run the statements that bring the target's types up to date: all of them, or none."""
    with connection.transaction():
        for statement in statements:
            connection.execute(statement.encode())


def make_shadow(connection: Connection[Any], table: Table, shadow: TableName) -> None:
    """Create an empty shadow table of the wanted shape, without its key, and the types that are missing.

    It is in our schema, where nobody looks.
    """
    with connection.transaction():
        for statement in create_types(table.types):
            connection.execute(statement.encode())
        connection.execute(f"DROP TABLE IF EXISTS {qualified(shadow)}, {qualified(found_by(shadow))}".encode())
        for statement in create_table(table, shadow, with_key=False):
            connection.execute(statement.encode())


def finish_sql(table: Table, shadow: TableName) -> tuple[str, ...]:
    """Return the statements that a loaded shadow table still needs: those of its key."""
    return ("SET maintenance_work_mem = '256MB'", *key_sql(table, shadow))


def finish_shadow(task: FinishTask) -> LoadedChunk:
    """Make the key and the statistics of a loaded shadow table; nothing that exists already is done again.

    No rows are loaded here: what comes back is a warning, or the error TGT-121 where the rows take no key.
    """
    import psycopg

    with session(task.target_dsn, application_name="ddlrepl refresh") as connection:
        shape = ServerFacts(connection).table(task.shadow)
        done = key_sql(shape) if shape else []
        try:
            missing = [statement for statement in task.statements if statement not in done]
            return LoadedChunk(warning=finish(connection, missing, task.shadow))
        except psycopg.Error as error:
            if (trouble := passing(error, "the target")) is not None:
                raise trouble from None
            refused = TargetError(
                f"the key can't be created on the loaded rows: {' '.join(str(error).split())}",
                code="TGT-121",
                table=task.table,
                hint="the target's table is as it was; the next run starts this refresh over",
                retryable=True,
            )
            return LoadedChunk(error=refused)


def put_in_place(connection: Connection[Any], channel: str, placing: Placing, fence: Fence) -> str:
    """Make the shadow the table, or copy its rows into the table; return which of the two was done. All or nothing.

    Raises CannotAdapt ADP-104 (another table has the name), ADP-131 (what depends on the table does not let it
    change) or ADP-140 (row by row can't be, in bulk an option would be broken), Fenced LCK-102, NotByRange where only
    some rows were loaded and all are needed; a lock that can't be had passes as psycopg's error (`patiently`).
    """
    table_state, shadow, recorded = placing.state, placing.shadow, placing.recorded
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL row_security = off")
        state.hold(cursor, channel, epoch=fence.epoch, token=fence.token)
        session = prepare_session(cursor)
        found = locked(cursor, channel, placing.previous) if placing.previous else None
        if found is None or found.name != table_state.name:
            _make_way(cursor, channel, table_state)
        hanging = dependants(connection, found) if found else []
        added = _own(connection, added_columns(found, table_state.shape, recorded), table_state.shape)
        hanging += [f"column {column.name}" for column in added]
        whole = with_added(table_state.shape, added)
        exchange = (
            Exchange(found, recorded, table_state.shape, whole, shadow, placing.keeps, placing.limit, placing.ranges)
            if found
            else None
        )
        refuse_clash(found, table_state.shape, recorded)
        if found is not None:
            with refusals(table_state.name, hanging):
                retain_deleted(cursor, found, table_state.shape, shadow, recorded)
        written, why = by_row(cursor, exchange, placing.options, session) if placing.options.is_by_row else (None, "")
        if written is None and placing.ranges is not None:
            raise NotByRange(why)
        if written is None:
            with refusals(table_state.name, hanging):
                written = Written(_in_bulk(cursor, found, placing, session, (hanging, added)), 0)
            load_marks.store(cursor, channel, table_state.table_id, table_state.name, placing.mark)
        state.write_table_states(cursor, channel, {table_state.table_id: table_state})
        at = table_state.snapshot.high if table_state.snapshot else placing.at or Position(0)
        placed(cursor, channel, table_state.table_id, shadow, at, placing.discarded)
        write_records(cursor, channel, [RefreshDone(table_state.table_id, placing.rows)])
        if written.left and table_state.snapshot is not None:
            write_records(
                cursor, channel, [RefreshDeclined(table_state.table_id, written.text, table_state.snapshot.high)]
            )
        reach("refresh.transaction")
    return f"{written.text}; not row by row: {why}" if why else written.text


def _in_bulk(
    cursor: Any, found: Table | None, placing: Placing, session: Session, own: tuple[Sequence[str], Sequence[Column]]
) -> str:
    """Make the shadow the table, or put its rows into the table; return which of these was done.

    own: what depends on the table, in words, and columns that people added.
    """
    (hanging, added), wanted, shadow, recorded = own, placing.state.shape, placing.shadow, placing.recorded
    if found is not None and all(map(_is_history, (recorded, wanted))):
        _append(cursor, placing, found, added)
        return "added"
    if found is not None:
        carry_over(cursor, found, wanted, shadow, placing.keeps, recorded)
    if found is None or not hanging:
        _replace(cursor, found, wanted, shadow)
        return "replaced"
    with retain_values(cursor, found, wanted, added, recorded):
        _exchange(cursor, found, wanted, shadow, session, added)
    return f"contents exchanged, because of {', '.join(hanging)}"


def locked(cursor: Any, channel: str, name: TableName) -> Table | None:
    """Lock a table and return its shape, which nobody changes any more until the transaction ends.

    It goes with no sequence of the channel until the end of the cycle.
    """
    connection = cursor.connection
    if not ServerFacts(connection).is_there(name):
        return None
    cursor.execute(f"LOCK TABLE {qualified(name)} IN ACCESS EXCLUSIVE MODE".encode())
    release(cursor, channel, [name])
    return ServerFacts(connection).table(name)


def _make_way(cursor: Any, channel: str, table_state: TableState) -> None:
    """Rename an orphaned table of that name (dropped at the source).

    Raise CannotAdapt ADP-104 for anybody else's table.
    """
    occupant = ServerFacts(cursor.connection).table(table_state.name)
    if occupant is None:
        return
    aside = aside_name(occupant).name
    cursor.execute(
        "UPDATE ddlrepl.tables SET table_name = %s"
        " WHERE channel = %s AND schema_name = %s AND table_name = %s AND state = %s",
        [aside, channel, *table_state.name, TableStatus.ORPHANED.value],
    )
    if not cursor.rowcount:
        raise CannotAdapt(
            f"another table has the name {table_state.name}",
            code="ADP-104",
            table=table_state.name,
            hint="rename or drop that table at the target",
        )
    cursor.execute(f"ALTER TABLE {qualified(table_state.name)} RENAME TO {quote(aside)}".encode())


def _replace(cursor: Any, old: Table | None, wanted: Table, shadow: TableName) -> None:
    if old is not None:
        cursor.execute(f"DROP TABLE {qualified(old.name)}".encode())
    between = TableName(wanted.name.schema, shadow.name)
    moves = (
        *create_schema(wanted.name.schema),
        f"ALTER TABLE {qualified(shadow)} SET SCHEMA {quote(wanted.name.schema)}",
        f"ALTER TABLE {qualified(between)} RENAME TO {quote(wanted.name.name)}",
    )
    cursor.execute("; ".join(moves).encode())
    name_parts(cursor, wanted.name)
    if old is None:
        grant_defaults(cursor, wanted.name)
    if wanted.partition is not None:
        cursor.execute(attach(wanted.name, wanted.partition).encode())


def with_added(wanted: Table, added: Sequence[Column]) -> Table:
    """Return the wanted shape with the columns that people added to the target's table."""
    return wanted.with_(columns=tuple(sorted((*wanted.columns, *added), key=lambda c: c.id))) if added else wanted


def _exchange(
    cursor: Any, old: Table, wanted: Table, shadow: TableName, session: Session, added: Sequence[Column]
) -> None:
    """Exchange a table's rows for those of its shadow; the table is the same, and what depends on it stays."""
    whole = _partitioned_by_hand(with_added(wanted, added), old)
    refuse_cascades(cursor, old.name, session)
    render = PostgresDdl(cursor.connection.info.server_version // 10000)
    with resting(cursor, old.name, wanted.name, session), deferred(cursor, [old.name], session):
        _empty(cursor, old)
        for statement in (
            *reshape(old, whole, render, POSTGRES_TYPES),
            *render.rows_into(wanted.name, wanted.with_(name=shadow)),
        ):
            if not statement.startswith("TRUNCATE TABLE"):
                cursor.execute(statement.encode())
    cursor.execute(f"DROP TABLE {qualified(shadow)}".encode())


def _partitioned_by_hand(wanted: Table, old: Table) -> Table:
    """Return the wanted shape with the partitions, or as the partition, that people have made of the target's table."""
    if old.is_partitioned and not wanted.is_partitioned:
        wanted = wanted.with_(partition_key=old.partition_key)
    if old.partition is not None and wanted.partition is None:
        wanted = wanted.with_(partition=old.partition)
    return wanted


def _own(connection: Connection[Any], added: list[Column], wanted: Table) -> list[Column]:
    """Return the columns that people added to a table; a partition has none but those of its partitioned table.

    A partition that is detached while both change may still have columns that the partitioned table has no more.
    """
    if not added or wanted.partition is None:
        return added
    parent = ServerFacts(connection).table(wanted.partition.of_name)
    return [column for column in added if parent is None or column.name in {c.name for c in parent.columns}]


def _is_history(shape: Table | None) -> bool:
    return shape is not None and history_columns(shape) is not None


def _append(cursor: Any, placing: Placing, old: Table, added: Sequence[Column]) -> None:
    """Add the shadow's rows to a table with a row per change, after one that says that those before count no more.

    Rows without an operation are from before the table had one per change.
    """
    wanted = placing.state.shape
    render = PostgresDdl(cursor.connection.info.server_version // 10000)
    layout = relayout(old, placing.recorded, with_added(wanted, added), render, POSTGRES_TYPES)
    for statement in (*(sql for way in layout.before for sql in way[0]), *layout.after):
        cursor.execute(statement.encode())
    if (names := history_columns(wanted)) is not None:
        cursor.execute(f"DELETE FROM {qualified(wanted.name)} WHERE {quote(names.operation)} IS NULL".encode())
    committed = round(datetime.now(UTC).timestamp() * 1_000_000)
    note = note_truncate(wanted, wanted.name, (LogKey(placing.at or Position(0), -1), committed, None))
    for statement in (note, *render.rows_into(wanted.name, wanted.with_(name=placing.shadow))):
        cursor.execute(statement.encode())
    cursor.execute(f"DROP TABLE {qualified(placing.shadow)}".encode())


def _empty(cursor: Any, table: Table) -> None:
    how = "DELETE FROM" if is_referenced(cursor.connection, table.name) else "TRUNCATE TABLE"
    cursor.execute(f"{how} {rows_of(table)}".encode())


@contextmanager
def refusals(table: TableName, hanging: list[str]) -> Iterator[None]:
    """Raise an error that names what depends on the table, for what the server refuses inside the `with`."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        if error.sqlstate in CONTENTION:
            raise
        if (trouble := passing(error, "the target")) is not None:
            raise trouble from None
        hint = "nothing was changed"
        hint += f"; these objects depend on the table: {'; '.join(hanging)}. " if hanging else ". "
        if isinstance(error, psycopg.errors.InsufficientPrivilege):
            hint += "The role of the target's location must own the table and may need CREATE in its schema"
        elif isinstance(error, psycopg.errors.ObjectInUse):
            hint += f"Let ddlrepl skip the target's foreign keys while it writes: {GRANT}"
        else:
            hint += "Drop the objects that are in the way, run again, and create them again"
        raise CannotAdapt(
            f"the target's table can't take the new rows: {' '.join(str(error).split())}",
            code="ADP-131",
            table=table,
            hint=hint,
        ) from None
