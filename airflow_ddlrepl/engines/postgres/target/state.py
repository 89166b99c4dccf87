"""This module stores a PostgreSQL target's state: up to where the log is applied, and the shape of each table.

It is written in the transactions that change the tables, so it is never ahead of them nor behind.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.connection.driver import Connection, Cursor
from airflow_ddlrepl.engines.postgres.owners import trusted_owners
from airflow_ddlrepl.engines.postgres.owners.schema_owner import require_trusted
from airflow_ddlrepl.engines.postgres.sessions.session_names import NAME_SESSION, end_earlier
from airflow_ddlrepl.engines.postgres.target import (
    apply_tables,
    conflict_counts,
    cut_over,
    discarded_rows,
    load_marks,
    outbox,
    rewind_area,
    tracked_sequences,
)
from airflow_ddlrepl.engines.postgres.target.channel_table import PREPARING, ChannelTable
from airflow_ddlrepl.engines.postgres.types.held_texts import as_dumped, as_held, encodable, loaded
from airflow_ddlrepl.engines.target_state import WAITING, TargetPosition, TargetState, forgotten
from airflow_ddlrepl.errors import Fenced, TargetError
from airflow_ddlrepl.model.marks import Mark
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.settings.stored import settings_from_text, settings_to_text
from airflow_ddlrepl.model.stored import beside_table, stored, table_text
from airflow_ddlrepl.model.table_state import PartialRefresh, Suspension, TableState, TableStatus
from airflow_ddlrepl.model.visibility import stored_visibility

CREATE = """
CREATE SCHEMA IF NOT EXISTS ddlrepl;
CREATE TABLE IF NOT EXISTS ddlrepl.position (
    channel text PRIMARY KEY, lsn pg_lsn NOT NULL, epoch bigint NOT NULL, token bigint NOT NULL,
    updated timestamptz NOT NULL DEFAULT now());
DO $$ BEGIN
    IF pg_catalog.to_regclass('ddlrepl.tables') IS NULL THEN
        CREATE TABLE ddlrepl.tables (
            channel text NOT NULL, table_id bigint NOT NULL, schema_name text NOT NULL, table_name text NOT NULL,
            shape jsonb NOT NULL, state text NOT NULL, snapshot jsonb, PRIMARY KEY (channel, table_id),
            shape_text text GENERATED ALWAYS AS (shape::text) STORED);  -- else each reading makes it of thousands
        -- for _FORGET_KEPT; neither is added to a table that is there, where other channels may be at work
        CREATE INDEX tables_kept ON ddlrepl.tables (channel, schema_name, table_name) WHERE state = 'kept';
    END IF;
END $$;
CREATE TABLE IF NOT EXISTS ddlrepl.chunks (token text NOT NULL, chunk text NOT NULL, rows bigint NOT NULL,
    PRIMARY KEY (token, chunk));
"""
VERSION = 1
"""The version of our tables at a target: it grows when an older version of the product must not write to them."""

MARKED = ChannelTable(
    "position",
    "ALTER TABLE ddlrepl.position ADD COLUMN IF NOT EXISTS mark text, ADD COLUMN IF NOT EXISTS version integer;"
    + trusted_owners.COLUMN,
    "owners",
)
_TEXTS = ChannelTable("tables", "", "shape_text")
_MARK = f"""
UPDATE ddlrepl.position SET mark = coalesce(%s, mark), version = greatest(version, %s), {trusted_owners.WITH_ROLE}
WHERE channel = %s
"""
_PUT = """
INSERT INTO ddlrepl.tables (channel, table_id, schema_name, table_name, shape, state, snapshot)
SELECT %s::text, id, schema, name, shape::jsonb, state, snapshot::jsonb FROM unnest(%b::bigint[], %b::text[],
    %b::text[], %b::text[], %b::text[], %b::text[]) AS given(id, schema, name, shape, state, snapshot)
ON CONFLICT (channel, table_id) DO UPDATE SET schema_name = excluded.schema_name, table_name = excluded.table_name,
    shape = excluded.shape, state = excluded.state, snapshot = excluded.snapshot
"""
_FORGET_KEPT = """
DELETE FROM ddlrepl.tables k USING ddlrepl.tables l
WHERE k.channel = %s AND l.channel = k.channel AND k.state = 'kept' AND l.state IN ('live', 'pending')
  AND l.table_id = ANY (%s)
  AND l.schema_name = k.schema_name AND l.table_name = k.table_name
"""
_ALL = b"SELECT count(*), sum(hash_record_extended(ROW(xmin, ctid), 0)) FROM ddlrepl.tables WHERE channel = %s"
TABLES = (
    "position",
    "tables",
    "chunks",
    "unrecorded",
    cut_over.TABLE,
    tracked_sequences.TABLE,
    discarded_rows.TABLE,
    conflict_counts.TABLE,
    load_marks.TABLE,
    *rewind_area.TABLES,
    *apply_tables.TABLES,
)
_OF_TABLES = (discarded_rows.STORED, conflict_counts.STORED, load_marks.STORED)


class _Known:
    """This is what a connection has read: states by channel and row version, and all of a channel with their mark."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], TableState] = {}
        self.whole: dict[str, tuple[tuple[Any, ...] | None, dict[int, TableState]]] = {}


_known: WeakKeyDictionary[Connection[Any], _Known] = WeakKeyDictionary()


def state_session(dsn: str, limit: int | None = None) -> Connection[Any]:
    """Open a session that reads and writes a target's state. limit: seconds that the server has to answer.

    Raises TargetError TGT-104 when somebody else has made our schema there, and what `session` raises.
    """
    connection = session(dsn, limit=limit)
    try:
        require_trusted(connection, TABLES, TargetError, "TGT-104")
    except BaseException:
        connection.close()
        raise
    return connection


def create(connection: Connection[Any]) -> None:
    """Create our schema at the target, with its tables, where they do not exist.

    Raises TargetError TGT-102 without the right to, TGT-104 when somebody else has made the schema, TGT-109 where
    somebody keeps others from it.
    """
    import psycopg

    try:
        with connection.transaction():
            PREPARING.take(connection)
            connection.execute("CREATE SCHEMA IF NOT EXISTS ddlrepl")
            require_trusted(connection, TABLES, TargetError, "TGT-104")
            own = (outbox, tracked_sequences, discarded_rows, conflict_counts, load_marks, rewind_area)
            connection.execute("".join((CREATE, *(one.CREATE for one in own))).encode())
    except psycopg.errors.InsufficientPrivilege as error:
        raise _no_right(connection, error) from None


def begin(cursor: Any, channel: str, lsn: Position, epoch: int, token: int) -> None:
    """Write the channel's position in the open transaction, if the target has none."""
    cursor.execute(
        "INSERT INTO ddlrepl.position (channel, lsn, epoch, token) VALUES (%s, %s::pg_lsn, %s, %s)"
        " ON CONFLICT DO NOTHING",
        [channel, str(lsn), epoch, token],
    )


def prepare(connection: Connection[Any], channel: str, lsn: Position, epoch: int, token: int) -> None:
    """Create our schema and the channel's position, if they do not exist. Raises what `create` raises."""
    create(connection)
    begin(connection, channel, lsn, epoch, token)


def _no_right(connection: Connection[Any], error: Exception) -> TargetError:
    row = connection.execute("SELECT quote_ident(current_user), quote_ident(current_database())").fetchone()
    assert row is not None
    return TargetError(
        f"{row[0]} may not create the schema ddlrepl at the target: {str(error).splitlines()[0]}",
        code="TGT-102",
        hint=f"GRANT CREATE ON DATABASE {row[1]} TO {row[0]}; or, when another role made the schema before:"
        f" GRANT USAGE, CREATE ON SCHEMA ddlrepl TO {row[0]}; and ALTER TABLE … OWNER TO {row[0]} for our tables there",
    )


def restart(connection: Connection[Any] | Cursor[Any], channel: str, lsn: Position, epoch: int, token: int) -> None:
    """Begin again at this position, whatever the state is, for a channel whose repository was made again."""
    connection.execute(
        "UPDATE ddlrepl.position SET lsn = %s::pg_lsn, epoch = %s, token = %s, updated = now() WHERE channel = %s",
        [str(lsn), epoch, token, channel],
    )
    if MARKED.is_there(connection):
        connection.execute("UPDATE ddlrepl.position SET mark = NULL WHERE channel = %s", [channel])
    connection.execute("DELETE FROM ddlrepl.unrecorded WHERE channel = %s", [channel])


def find_position(connection: Connection[Any], channel: str) -> TargetPosition | None:
    """Return the target's position; None when it was never prepared for the channel."""
    import psycopg

    try:
        row = connection.execute(
            "SELECT lsn::text, epoch, token, to_jsonb(p) ->> 'mark', (to_jsonb(p) ->> 'version')::int"
            " FROM ddlrepl.position p WHERE channel = %s",
            [channel],
        ).fetchone()
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
        return None
    if row is None:
        return None
    if row[4] is not None and row[4] > VERSION:
        raise _newer(connection, row[4])
    return TargetPosition(Position.parse(row[0]), int(row[1]), int(row[2]), Mark.parse(row[3]) if row[3] else None)


def _newer(connection: Connection[Any], version: int) -> TargetError:
    return TargetError(
        f"our tables at {_place(connection)} are of a newer version (they are at {version}, ours at {VERSION})",
        code="TGT-108",
        hint="install that version of airflow-ddlrepl here, too",
    )


def find_state(connection: Connection[Any], channel: str) -> TargetState | None:
    """Return the state that the target has of the channel; None when it was never prepared for it."""
    at = find_position(connection, channel)
    return TargetState(at.lsn, at.epoch, at.token, _read_table_states(connection, channel)) if at else None


def read_state(connection: Connection[Any], channel: str) -> TargetState:
    """Return the state that the target has of the channel. Raises TargetError TGT-101 when it was never prepared."""
    found = find_state(connection, channel)
    if found is None:
        raise forgotten(f"the target at {_place(connection)}", channel)
    return found


def _place(connection: Connection[Any]) -> str:
    info = connection.info
    return f"{info.host}:{info.port}/{info.dbname}"


def _read_table_states(connection: Connection[Any], channel: str) -> dict[int, TableState]:
    """Return the table states by table id.

    What this connection has read before is not read again: the places of the rows' versions show what is new.
    """
    known = _known.setdefault(connection, _Known())
    mark = connection.execute(_ALL, [channel]).fetchone()
    if channel not in known.whole or known.whole[channel][0] != mark:
        known.whole[channel] = mark, _read_new(connection, channel, known)
    return dict(known.whole[channel][1])


def _read_new(connection: Connection[Any], channel: str, known: _Known) -> dict[int, TableState]:
    """Return the table states by table id, those of row versions that are not known read anew."""
    where, version = "FROM ddlrepl.tables WHERE channel = %s", "xmin::text || ' ' || ctid::text"
    marks = connection.execute(f"SELECT table_id, {version} {where}".encode(), [channel]).fetchall()
    found = {table_id: known.rows.get((channel, mark)) for table_id, mark in marks}
    if news := [table_id for table_id, table_state in found.items() if table_state is None]:
        shape = "shape_text" if _TEXTS.is_there(connection) else "shape::text"
        columns = f"{version}, table_id, schema_name, table_name, {shape}, state, snapshot"
        new = connection.execute(f"SELECT {columns} {where} AND table_id = ANY (%s)".encode(), [channel, news])
        for mark, *row in new.fetchall():
            found[row[0]] = known.rows[channel, mark] = _table_state(connection, row)
    return {table_id: table_state for table_id, table_state in found.items() if table_state is not None}


def has_loaded(connection: Connection[Any], channel: str) -> bool:
    """Has a table of the channel got its first rows here?"""
    loaded = "SELECT FROM ddlrepl.tables WHERE channel = %s AND state <> %s"
    row = connection.execute(f"SELECT EXISTS ({loaded})".encode(), [channel, TableStatus.NEW]).fetchone()
    return row is not None and bool(row[0])


def is_waiting(connection: Connection[Any], channel: str) -> bool:
    """Is there a table of the channel that waits here for a refresh?

    The server would look into each shape: a session that has read the states knows the answer.
    """
    if connection in _known and channel in _known[connection].whole:
        return any(one.state in WAITING or one.awaits_rows for one in _read_table_states(connection, channel).values())
    some_rows = "state = 'live' AND shape -> 'partial' -> 'until' = 'null'"
    waits = f"SELECT FROM ddlrepl.tables WHERE channel = %s AND (state = ANY (%s) OR {some_rows})"
    row = connection.execute(f"SELECT EXISTS ({waits})".encode(), [channel, [*WAITING]]).fetchone()
    return row is not None and bool(row[0])


def advance(cursor: Any, channel: str, low: Position, high: Position, *, epoch: int, token: int) -> None:
    """Move the position from low to high in the open transaction; its row stays locked to the end.

    Raises Fenced LCK-102 when the target is at another position or a newer run has been here.
    """
    cursor.execute(
        "UPDATE ddlrepl.position SET lsn = %s::pg_lsn, token = %s, updated = now()"
        f" WHERE channel = %s AND lsn = %s::pg_lsn AND epoch = %s AND token <= %s RETURNING {NAME_SESSION}",
        [str(high), token, channel, str(low), epoch, token],
    )
    if cursor.rowcount != 1:
        raise _fenced(channel, low)


def hold(cursor: Any, channel: str, *, epoch: int, token: int) -> None:
    """Stop other runs from writing at the target until the open transaction ends. Raises Fenced LCK-102."""
    cursor.execute(
        "UPDATE ddlrepl.position SET token = %s, updated = now() WHERE channel = %s AND epoch = %s AND token <= %s"
        f" RETURNING {NAME_SESSION}",
        [token, channel, epoch, token],
    )
    if cursor.rowcount != 1:
        raise _fenced(channel, None)


def claim(connection: Connection[Any], channel: str, *, epoch: int, token: int, mark: Mark | None = None) -> None:
    """Stop every earlier run of the channel from writing at this target: its open transactions are rolled back.

    Raises Fenced LCK-102 when a newer run has been here, TargetError TGT-101 when the target knows no such channel.
    """
    import psycopg

    end_earlier(connection, channel, token)
    try:
        with connection.transaction(), connection.cursor() as cursor:
            hold(cursor, channel, epoch=epoch, token=token)
            with_owners(cursor)
            cursor.execute(_MARK, [mark.to_text() if mark is not None else None, VERSION, channel])
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName, Fenced):
        read_state(connection, channel)
        raise


def with_owners(cursor: Any) -> None:
    """Add to our tables, in the open transaction, what an older version's lack, and accept who owns tables there."""
    if not MARKED.is_there(cursor.connection):
        MARKED.ensure(cursor)
        trusted_owners.accept_present_owners(cursor)


def write_table_states(
    cursor: Any, channel: str, table_states: Mapping[int, TableState], gone: Iterable[int] = ()
) -> None:
    """Write table states, in the open transaction.

    gone: those that the target has dropped.
    An orphaned table whose name a live one has now is forgotten: it was used again, or renamed.
    """
    rows = [_row(cursor.connection, table_state) for table_state in table_states.values()]
    for low in range(0, len(rows), outbox.AT_ONCE):
        cursor.execute(_PUT, [channel, *map(list, zip(*rows[low : low + outbox.AT_ONCE], strict=True))])
    if removed := list(gone):
        cursor.execute("DELETE FROM ddlrepl.tables WHERE channel = %s AND table_id = ANY(%s)", [channel, removed])
    cursor.execute(_FORGET_KEPT, [channel, [*table_states]])
    if removed or cursor.rowcount or any(s.state is TableStatus.ORPHANED for s in table_states.values()):
        for one in _OF_TABLES:
            one.remove_dropped(cursor, channel)


def forget(connection: Connection[Any], channel: str) -> None:
    """Remove the channel's state; for the last channel the schema, too. The tables stay."""
    with connection.transaction():
        row = connection.execute("SELECT to_regclass('ddlrepl.position')").fetchone()
        if row is None or row[0] is None:
            return
        connection.execute("DELETE FROM ddlrepl.position WHERE channel = %s", [channel])
        connection.execute("DELETE FROM ddlrepl.tables WHERE channel = %s", [channel])
        connection.execute("DELETE FROM ddlrepl.unrecorded WHERE channel = %s", [channel])
        cut_over.forget(connection, channel)
        tracked_sequences.forget_all(connection, channel)
        for one in _OF_TABLES:
            one.forget_all(connection, channel)
        rewind_area.forget(connection, channel)
        apply_tables.forget(connection, channel)
        row = connection.execute(
            "SELECT EXISTS (SELECT FROM ddlrepl.position) OR to_regclass('ddlrepl.channel') IS NOT NULL"
            " OR to_regclass('ddlrepl.captured_lcrs') IS NOT NULL"
        ).fetchone()
        if row is not None and not row[0]:
            connection.execute("DROP SCHEMA ddlrepl CASCADE")


def _fenced(channel: str, low: Position | None) -> Fenced:
    return Fenced(
        f"another run of channel {channel} has been at this target",
        code="LCK-102",
        at=low,
        hint="nothing was written; run again: a run starts from the position that the target has",
        retryable=True,
    )


def _row(connection: Connection[Any], table_state: TableState) -> tuple[Any, ...]:
    known = {"suspension": table_state.suspension, "partial": table_state.partial}
    properties = settings_to_text(table_state.settings)
    more = {"properties": properties, **{name: one.to_json() for name, one in known.items() if one}}
    shape = as_held(connection, table_text(table_state.shape, more))
    snapshot = json.dumps(table_state.snapshot.to_json()) if table_state.snapshot else None
    name = (encodable(connection, part) for part in table_state.name)
    return (table_state.table_id, *name, shape, table_state.state.value, snapshot)


def _table_state(connection: Connection[Any], row: Sequence[Any]) -> TableState:
    table_id, schema, name, shape, state, snapshot = row
    more = beside_table(shape)
    suspension, partial = more.get("suspension"), more.get("partial")
    return TableState(
        int(table_id),
        TableName(loaded(connection, schema), loaded(connection, name)),
        stored(as_dumped(connection, shape)),
        TableStatus(state),
        stored_visibility(snapshot) if snapshot else None,
        settings_from_text(loaded(connection, more.get("properties") or "")),
        Suspension.from_json(loaded(connection, suspension)) if suspension else None,
        PartialRefresh.from_json(partial) if partial else None,
    )
