"""This module holds tables of a source so that a query over them runs nobody's code.

To plan a query the server evaluates what is constant in the expressions of a table's indexes and statistics, with the
rights of the role that asks: a function of the table's owner there would run as our reading role. A plain COPY of a
table plans nothing. So tables are read by that, and by queries only where they have no such code, while nobody can add
any: what `ddlrepl.hold_for_queries` of the helper schema says.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.load.table_rows import TableRows, rows_of
from airflow_ddlrepl.engines.source_catalog import RowSelection
from airflow_ddlrepl.errors import DdlReplError

log = logging.getLogger("ddlrepl")
# Each statement has to see what the lock before it waited for; and a lock needs a transaction that may write.
_BEGIN = b"SET TRANSACTION ISOLATION LEVEL READ COMMITTED READ WRITE"
_TRUSTED = """
SELECT pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND pg_catalog.has_function_privilege(p.oid, 'EXECUTE')
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
JOIN pg_catalog.pg_roles r ON r.oid = p.proowner JOIN pg_catalog.pg_roles o ON o.oid = n.nspowner
WHERE n.nspname = 'ddlrepl' AND p.proname = 'hold_for_queries'
  AND (r.rolsuper OR r.rolname = current_user OR pg_catalog.pg_has_role(current_user, r.oid, 'USAGE'))
  AND (o.rolsuper OR o.rolname = current_user OR pg_catalog.pg_has_role(current_user, o.oid, 'USAGE'))
"""
_HOLD = "SELECT id::bigint FROM ddlrepl.hold_for_queries(%s::oid[]) AS t(id)"


@dataclass(eq=False)
class HeldTables:
    """Held tables are those that queries may read until `close`; a session is opened when the first one is asked for.

    dsn: of the source.
    """

    dsn: str = field(repr=False)
    _connection: Connection[Any] | None = field(default=None, init=False, repr=False)
    _answers: dict[int, bool] = field(default_factory=dict, init=False)

    def may_query(self, table_id: int) -> bool:
        """May a query read the table? Else only a COPY of it may: its owner's code would run, or nobody can tell."""
        self.hold([table_id])
        return self._answers[table_id]

    def hold(self, table_ids: Collection[int]) -> None:
        """Hold those of these tables that a query may read, all at once."""
        wanted = [i for i in table_ids if i not in self._answers]
        if not wanted:
            return
        self._answers |= dict.fromkeys(wanted, False)
        found = self._lock(wanted)
        self._answers |= dict.fromkeys(found, True)
        if plain := len(wanted) - len(found):
            log.debug("%d tables are read by COPY alone: a query over them could run code of their owners", plain)

    def _lock(self, table_ids: list[int]) -> list[int]:
        import psycopg

        try:
            if self._connection is None:
                self._connection = session(self.dsn, autocommit=False, application_name="ddlrepl hold")
                self._connection.execute(_BEGIN)
            row = self._connection.execute(_TRUSTED).fetchone()
            if row is None or not row[0]:
                return []
            return [int(i) for (i,) in self._connection.execute(_HOLD, [table_ids])]
        except (psycopg.Error, DdlReplError) as error:
            log.warning("tables are read by COPY alone: %s", " ".join(str(error).split()))
            self._forget()
            return []

    def _forget(self) -> None:
        """Give up what was held: an error has ended the transaction."""
        self._answers = dict.fromkeys(self._answers, False)
        self.close()

    def close(self) -> None:
        """Let the tables go."""
        connection, self._connection = self._connection, None
        if connection is not None and not connection.closed:
            connection.rollback()
            connection.close()


@dataclass(eq=False)
class OwnTables(HeldTables):
    """Own tables are those that a channel has made at a target: nobody else has put anything on them."""

    def hold(self, table_ids: Collection[int]) -> None:
        self._answers |= dict.fromkeys(table_ids, True)


@contextmanager
def reading(dsn: str, table_ids: Collection[int]) -> Iterator[Callable[[RowSelection], TableRows]]:
    """Return a function that makes row sources, each with a snapshot of its own; queries may read what is held."""
    with closing(HeldTables(dsn)) as held:
        held.hold(table_ids)
        yield lambda rows: replace(rows_of(dsn, rows), is_plain=not held.may_query(rows.table.id))
