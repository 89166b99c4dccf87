"""This module takes locks of ours that are mere numbers: anybody may hold them, so nobody is waited for without end."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.errors import DdlReplError

PATIENCE = 60.0
_PAUSE = 0.2
_HOLDERS = """
SELECT l.pid, a.usename, a.application_name
FROM pg_catalog.pg_locks l LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
  AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())
  AND (l.classid::bigint << 32) | l.objid::bigint = pg_catalog.hashtext(%s)::bigint
ORDER BY 1
"""


@dataclass(frozen=True, slots=True)
class AdvisoryLock:
    """An advisory lock lets one session after the other do a piece of work in a database.

    name: of the work. what: what can't go on without it, in words. error, code: raised when somebody keeps it.
    """

    name: str
    what: str
    error: type[DdlReplError]
    code: str

    def take(self, cursor: Any, seconds: float | None = None) -> None:
        """Take the lock until the transaction ends. Raises the lock's error, which names whoever keeps it.

        cursor: of psycopg, or its connection. seconds: how long somebody else's work is waited for; else PATIENCE.
        """
        self._wait(cursor, "pg_try_advisory_xact_lock", seconds)

    def take_for_session(self, cursor: Any, seconds: float | None = None) -> None:
        """Take the lock until the session ends or gives it back. Raises as `take` does."""
        self._wait(cursor, "pg_try_advisory_lock", seconds)

    def _wait(self, cursor: Any, function: str, seconds: float | None) -> None:
        end = time.monotonic() + (PATIENCE if seconds is None else seconds)
        query = f"SELECT pg_catalog.{function}(pg_catalog.hashtext(%s))"
        while not cursor.execute(query, [self.name]).fetchone()[0]:
            if time.monotonic() > end:
                raise self._refused(cursor)
            time.sleep(_PAUSE)

    def _refused(self, cursor: Any) -> DdlReplError:
        rows = cursor.execute(_HOLDERS, [self.name]).fetchall()
        who = "; ".join(f"process {pid} (user {user}, application {application!r})" for pid, user, application in rows)
        ends = " ".join(f"SELECT pg_terminate_backend({pid});" for pid, *_ in rows)
        return self.error(
            f"{self.what}: the lock {self.name} is kept by {who or 'somebody'}",
            code=self.code,
            hint=f"if that is no run of ddlrepl, end it and run again: {ends}".strip(),
            retryable=True,
        )
