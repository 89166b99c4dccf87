"""This module takes what triggers have captured in windows, each of which becomes one segment of the feed.

A window has the rows of all transactions that had ended when it was opened: its snapshot tells for each of them, now
and later. So a window that a killed run has left has the same rows again, and nobody else's. Rows of a transaction that
was rolled back, or of a rolled back savepoint, are never there; those of a prepared one come once it is committed.

Transactions are ordered by their greatest id, the changes of one by their ids. An id is drawn in the transaction, after
the change. Where a transaction depends on another one, because it changes a row that the other has written, or because
a foreign key or a unique key lets it wait for the other, then the other has committed before this change, and has drawn
all its ids: its greatest one is less. So it comes first, whether both are in one window or in two, for a snapshot that
shows the later one as ended shows the earlier one, too. The exception are deferred constraints: they are checked behind
the last change, and two transactions that only such a check relates may come in either order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.engines.abilities.sync_capture import CapturedRows, CapturedWindow
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import errors
from airflow_ddlrepl.model.table import Table

_CHUNK = 2000
_OF_CLIENT = "l.channel = %(channel)s AND l.client = %(client)s"
_IN_WINDOW = f"""
FROM ddlrepl.captured_lcrs l JOIN ddlrepl.captured_windows w USING (channel, client)
WHERE {_OF_CLIENT} AND pg_visible_in_snapshot(l.xid, w.ended)
"""
# One row, which is locked: two runs open no two windows.
_LAST = """
SELECT number, is_open FROM ddlrepl.captured_windows WHERE channel = %(channel)s AND client = %(client)s FOR UPDATE
"""
_REGISTER = """
INSERT INTO ddlrepl.captured_windows (channel, client, number, ended, is_open)
VALUES (%(channel)s, %(client)s, %(number)s, pg_current_snapshot(), false) ON CONFLICT DO NOTHING
"""
_OPEN = f"""
UPDATE ddlrepl.captured_windows w SET number = w.number + 1, ended = pg_current_snapshot(), is_open = true
WHERE w.channel = %(channel)s AND w.client = %(client)s
  AND EXISTS (SELECT FROM ddlrepl.captured_lcrs l WHERE {_OF_CLIENT})
RETURNING number
"""
_FACTS = f"""
SELECT w.number, count(DISTINCT l.xid), count(*) FILTER (WHERE l.kind = 'row'),
    min(l.xid::text::bigint), max(l.xid::text::bigint),
    coalesce(array_agg(DISTINCT l.schema_name || '.' || l.table_name) FILTER (WHERE l.kind = 'truncate'), '{{}}')
{_IN_WINDOW} AND w.is_open GROUP BY w.number
"""
_ROWS = f"""
SELECT l.id, l.xid::text::bigint, l.kind, l.table_id::bigint, l.schema_name, l.table_name, l.command, l.shape_id,
    l.renamed, l.old_values, l.new_values, l.payload::text, l.tag, (extract(epoch FROM l.captured) * 1000000)::bigint,
    max(l.id) OVER by_transaction, (max(extract(epoch FROM l.captured) * 1000000) OVER by_transaction)::bigint
{_IN_WINDOW} WINDOW by_transaction AS (PARTITION BY l.xid) ORDER BY max(l.id) OVER by_transaction, l.id
"""
_DELETE = f"""
DELETE FROM ddlrepl.captured_lcrs l USING ddlrepl.captured_windows w
WHERE {_OF_CLIENT} AND w.channel = l.channel AND w.client = l.client AND w.number = %(number)s AND w.is_open
  AND pg_visible_in_snapshot(l.xid, w.ended)
"""
_MOST_COUNTED = 10_000
_WAITING = f"""
SELECT count(*), extract(epoch FROM clock_timestamp() - min(captured))::float
FROM (SELECT l.captured FROM ddlrepl.captured_lcrs l WHERE {_OF_CLIENT} ORDER BY l.id LIMIT {_MOST_COUNTED + 1}) oldest
"""
_CLOSE = """
UPDATE ddlrepl.captured_windows SET is_open = false
WHERE channel = %(channel)s AND client = %(client)s AND number = %(number)s
"""
# All but the newest shape of each table that is there, and those that a row LCR of any channel refers to.
_NEEDLESS = """
FROM ddlrepl.captured_shapes s
WHERE NOT EXISTS (SELECT FROM ddlrepl.captured_lcrs l WHERE l.shape_id = s.id)
  AND (NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = s.table_id)
       OR EXISTS (SELECT FROM ddlrepl.captured_shapes n WHERE n.table_id = s.table_id AND n.id > s.id))
"""


@dataclass(frozen=True, slots=True)
class CapturedRow:
    """A captured row is one row of the table `captured_lcrs`, with where its transaction ends.

    captured, committed: microseconds since 1970; committed: the transaction's last change.
    """

    id: int
    xid: int
    kind: str
    table_id: int | None
    schema: str | None
    table: str | None
    command: str | None
    shape_id: int | None
    renamed: dict[str, str | int] | None
    old: dict[str, str | None] | None
    new: dict[str, str | None] | None
    payload: str | None
    tag: str | None
    captured: int
    last: int
    committed: int

    @property
    def size(self) -> int:
        """Return how many characters the values have."""
        return sum(len(text or "") for row in (self.old, self.new) for text in (row or {}).values())


@dataclass(frozen=True, slots=True)
class Windows:
    """These are the windows of one synchronous capture."""

    connection: Connection[Any]
    channel: str
    client: str

    def register(self, last: int) -> None:
        """Note that the client is prepared, if nobody has yet. last: the number of the newest window in its feed."""
        self.connection.execute(_REGISTER, {**self._known, "number": last})

    def open(self) -> CapturedWindow | None:
        """Return the window that is open, or open one; None when nothing is captured."""
        with self.connection.transaction():
            self.connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            found = self.connection.execute(_LAST, self._known).fetchone()
            is_new = found is None or not found[1]
            if is_new:
                found = self.connection.execute(_OPEN.encode(), self._known).fetchone()
            if found is None:
                return None
            row = self.connection.execute(_FACTS.encode(), self._known).fetchone()
            if row is None:  # somebody has deleted its rows
                self._close(found[0])
                return None
        number, transactions, changes, first, last, truncated = row
        return CapturedWindow(number, transactions, changes, first, last, is_new, tuple(truncated))

    def unread_rows(self) -> CapturedRows:
        """Return how many rows no run has read yet, and the age of the oldest; of many, only the oldest are counted."""
        row = self.connection.execute(_WAITING.encode(), self._known).fetchone()
        number, seconds = row if row is not None else (0, None)
        return CapturedRows(min(number, _MOST_COUNTED), number > _MOST_COUNTED, seconds)

    def rows(self) -> Iterator[CapturedRow]:
        """Yield the rows of the open window, transaction by transaction."""
        with self.connection.transaction(), self.connection.cursor("captured_rows") as cursor:
            cursor.itersize = _CHUNK
            cursor.execute(_ROWS.encode(), self._known)
            for row in cursor:
                yield CapturedRow(*row)

    def close(self, number: int) -> None:
        """Delete the rows of the window with this number, if it is still open."""
        with self.connection.transaction():
            self.connection.execute(_LAST, self._known)
            self.connection.execute(_DELETE.encode(), {**self._known, "number": number})
            self._close(number)

    def forget_shapes(self) -> int:
        """Delete old shapes of tables that no captured row refers to; return how many.

        Transactions that capture rows hold a lock on the shapes until they end. While there is one, nothing is deleted
        and nobody waits: what it has captured may refer to any shape, and is not to be seen yet.
        """
        if self.connection.execute(f"SELECT {_NEEDLESS} LIMIT 1".encode()).fetchone() is None:
            return 0
        try:
            with self.connection.transaction():
                self.connection.execute("LOCK TABLE ddlrepl.captured_shapes IN ACCESS EXCLUSIVE MODE NOWAIT")
                return self.connection.execute(f"DELETE {_NEEDLESS}".encode()).rowcount
        except errors().LockNotAvailable:
            return 0

    def _close(self, number: int) -> None:
        self.connection.execute(_CLOSE, {**self._known, "number": number})

    def shape(self, shape_id: int) -> Table:
        """Return a shape that row LCRs refer to."""
        query = "SELECT shape FROM ddlrepl.captured_shapes WHERE id = %s"
        row = self.connection.execute(query, [shape_id]).fetchone()
        assert row is not None, shape_id
        return Table.from_json(row[0])

    @property
    def _known(self) -> dict[str, Any]:
        return {"channel": self.channel, "client": self.client}
