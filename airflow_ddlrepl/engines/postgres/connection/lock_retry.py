"""This module waits for locks at a target, but never long at a time, so that no query has to wait long behind it.

A try that can't have its locks is rolled back and made again after a pause. From the second one on another
session watches who has the locks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeVar

from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import CONTENTION
from airflow_ddlrepl.errors import DdlReplError, TargetError

LOCK_TIMEOUT = 5.0
ATTEMPTS = 6
LOOK_SECONDS = 0.1
Result = TypeVar("Result")
_BLOCKERS = """
SELECT a.pid, format('process %%s (user %%s, application %%s, %%s, since %%s): %%s', a.pid, a.usename,
    quote_literal(a.application_name), a.state, date_trunc('second', coalesce(a.xact_start, a.query_start)),
    left(regexp_replace(a.query, '\\s+', ' ', 'g'), 200))
FROM unnest(pg_blocking_pids(%s)) AS b(pid) JOIN pg_stat_activity a USING (pid)
"""


def limit(connection: Connection[Any], lock_timeout: float) -> None:
    """Set for how many seconds a statement of this session waits for a lock, at most."""
    connection.execute("SELECT set_config('lock_timeout', %s, false)", [f"{int(lock_timeout * 1000)}ms"])


def patiently(work: Callable[[], Result], connection: Connection[Any], dsn: str) -> Result:
    """Run a transaction; again, with growing pauses, while a lock can't be had or transactions collide.

    connection: the one that works. dsn: where it is. Raises TargetError TGT-110 at last, with who holds the lock.
    """
    import psycopg

    try:
        return work()
    except (psycopg.Error, TargetError) as error:
        if not _is_contention(error):
            raise
        last: BaseException = error
    with _Watch(dsn, connection.info.backend_pid) as watch:
        for attempt in range(1, ATTEMPTS):
            time.sleep(min(0.25 * 2**attempt, 8))
            try:
                return work()
            except (psycopg.Error, TargetError) as error:
                if not _is_contention(error):
                    raise
                last = error
    raise _given_up(last, watch.blockers) from None


def _is_contention(error: BaseException) -> bool:
    """Return whether an error, or its cause, is a lock not available, a deadlock or a serialization failure."""
    state = getattr(error, "sqlstate", None) or getattr(error.__cause__, "sqlstate", None)
    return state in CONTENTION


def _given_up(error: BaseException, blockers: dict[int, str]) -> TargetError:
    who = "; ".join(blockers.values()) or "a session that has ended by now"
    end = " ".join(f"SELECT pg_terminate_backend({pid});" for pid in blockers)
    reason = " ".join(str(getattr(error, "message", error)).split())
    return TargetError(
        f"a lock at the target was not granted ({reason}); it is held by {who}",
        code="TGT-110",
        hint=f"wait for it or end it{': ' + end if end else ''}; the next run tries again."
        " `lock_timeout` of the target is how long one try waits",
        retryable=True,
    )


class _Watch(threading.Thread):
    """A watch sees who blocks a session, while the `with` block runs.

    blockers: process → what it is and does, the newest.
    """

    def __init__(self, dsn: str, pid: int) -> None:
        super().__init__(name="ddlrepl lock watch", daemon=True)
        self.dsn = dsn
        self.pid = pid
        self.blockers: dict[int, str] = {}
        self._ending = threading.Event()

    def run(self) -> None:
        import psycopg

        with suppress(psycopg.Error, DdlReplError), session(self.dsn) as watcher:
            while not self._ending.wait(LOOK_SECONDS):
                self.blockers = dict(watcher.execute(_BLOCKERS.encode(), [self.pid]).fetchall()) or self.blockers

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ending.set()
        self.join()
