"""This module defines the pool: sessions that a run has closed and uses again.

A new one costs its server more than most of what we ask it: a process, and all that it has to learn of the catalog.

    with reusing():
        with session(dsn) as first: ...
        with session(dsn) as second: ...  # the first one, as good as new
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.engines.postgres.connection.errors import AtServer

if TYPE_CHECKING:
    from types import TracebackType

    from psycopg import Connection

_AS_NEW = (
    b"RESET SESSION AUTHORIZATION; RESET ALL; CLOSE ALL; SELECT pg_catalog.pg_advisory_unlock_all();"
    b" DISCARD TEMP; DISCARD SEQUENCES"
)
"""DISCARD ALL, but for prepared statements and plans."""

MOST_IDLE = 8
"""This many idle sessions of one location are in the pool at most; more are closed."""


@contextmanager
def reusing() -> Iterator[None]:
    """Reuse, inside the `with`, a session that this process has closed for the next one to the same location.

    The last `with` to end closes those that are left. Inside another `reusing`, in any thread: the same sessions.
    """
    _kept.enter()
    try:
        yield
    finally:
        _kept.release()


def take(location: str) -> Any:
    """Return a closed session, open again as if new: as its role and database have it. None when there is none.

    Its server may have ended it since.
    """
    return _kept.take(location)


class _Kept:
    """The pool has the idle sessions, while somebody wants them.

    Its text shows no location.
    """

    def __init__(self) -> None:
        self._turn = Lock()
        self._users = 0
        self._idle: dict[str, list[Any]] = {}

    def enter(self) -> None:
        with self._turn:
            self._users += 1

    def release(self) -> None:
        with self._turn:
            self._users -= 1
            left = [] if self._users else [one for kept in self._idle.values() for one in kept]
            if not self._users:
                self._idle.clear()
        for one in left:
            one.discard()

    def take(self, location: str) -> Any:
        with self._turn:
            idle = self._idle.get(location)
            found = idle.pop() if idle else None
        if found is not None:
            found.is_idle = False
        return found

    def put(self, session: Any) -> bool:
        """Add a session to the idle ones; return False when it is not wanted."""
        with self._turn:
            idle = self._idle.setdefault(session.location, []) if self._users else None
            if idle is None or len(idle) >= MOST_IDLE:
                return False
            session.is_idle = True
            idle.append(session)
            return True

    @property
    def is_wanted(self) -> bool:
        return self._users > 0


_kept = _Kept()


@cache
def kind() -> type[Connection[tuple[Any, ...]]]:
    """Return the class of sessions, which go into the pool when they are closed.

    Set the `location` of each: the pool finds it under that. Only statements that say so (`prepare=True`) are prepared:
    one about a user's table would fail once its columns have other types.
    """
    import psycopg

    class Session(psycopg.Connection[tuple[Any, ...]]):
        """A session is closed for good in the middle of a transaction or after an error.

        Else it may go into the pool.
        """

        location = ""
        is_idle = False

        def __init__(self, *arguments: Any, **more: Any) -> None:
            super().__init__(*arguments, **more)
            self.cursor_factory = _cursor_kind()

        @property
        def closed(self) -> bool:
            return self.is_idle or super().closed

        def close(self) -> None:
            if self.is_idle:
                return
            if not (self._is_clean() and _kept.put(self)):
                self.discard()

        def discard(self) -> None:
            self.is_idle = False
            super().close()

        def _is_clean(self) -> bool:
            """Remove what was done with the session: settings, its role, locks, cursors, temporary tables.

            Return whether it is. Prepared statements stay: to plan one costs more than to run it.
            """
            if not _kept.is_wanted or self.info.transaction_status is not psycopg.pq.TransactionStatus.IDLE:
                return False
            try:
                self.set_autocommit(True)
                self.execute(_AS_NEW)
            except psycopg.Error:
                return False
            return True

        def __exit__(
            self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
        ) -> None:
            if kind is not None and not self.is_idle:
                self.discard()  # what was not committed is undone
            super().__exit__(kind, error, at)

    return Session


@cache
def _cursor_kind() -> Any:
    """Return the class of cursors of sessions, which say behind each error which server it comes from."""
    import psycopg

    class Placing(psycopg.Cursor[tuple[Any, ...]]):
        """A cursor says behind each error of its statements which server it comes from, and if that is read-only."""

        def execute(self, *arguments: Any, **more: Any) -> Any:
            try:
                return super().execute(*arguments, **more)
            except psycopg.Error as error:
                raise error from _origin(error, self.connection)

        @contextmanager
        def copy(self, *arguments: Any, **more: Any) -> Iterator[Any]:
            try:
                with super().copy(*arguments, **more) as found:
                    yield found
            except psycopg.Error as error:
                raise error from _origin(error, self.connection)

    return Placing


def _origin(error: Any, connection: Any) -> BaseException | None:
    """Return what the server of a session has told of itself, as the cause of its error; or the cause that it has."""
    if error.__cause__ is not None or not isinstance(connection, kind()):
        return error.__cause__  # type: ignore[no-any-return]
    info = connection.info
    return AtServer(
        f"{info.user}@{info.host}:{info.port}/{info.dbname}",
        is_standby=info.parameter_status("in_hot_standby") == "on",
        is_read_only=info.parameter_status("default_transaction_read_only") == "on",
    )
