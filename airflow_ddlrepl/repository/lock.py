"""The channel lock lets one run at a time work on a channel; a silent run is replaced, and can't write any more.

A lock is a lease that its holder renews, and a token that grows with every holder. Every write carries
its token and is refused in its own transaction when the token isn't the newest.
"""

from __future__ import annotations

import threading
import time
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Self

from sqlalchemy import Connection, Row, select, update

from airflow_ddlrepl.errors import DdlReplError, Fenced, LockHeld
from airflow_ddlrepl.repository.base import Base, fenced, insert_new
from airflow_ddlrepl.repository.database import Database
from airflow_ddlrepl.repository.process import is_gone, this_process
from airflow_ddlrepl.repository.stored.rows import LockRow
from airflow_ddlrepl.repository.stored.tables import locks


def _clock() -> float:
    """Return seconds by a clock that also runs while the machine sleeps."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class ChannelLock:
    """A channel lock is held by one run, and renewed in the background while its `with` block runs."""

    def __init__(self, database: Database, channel: str, token: int, lease_seconds: float, taken: float) -> None:
        self.channel = channel
        self.token = token
        self._database = database
        self._lease = lease_seconds
        self._deadline = taken + lease_seconds
        self._lost: Fenced | None = None
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._renew_until_end, name=f"lock {channel}", daemon=True)

    def renew(self) -> None:
        """Extend the lease; raise Fenced LCK-102 when another run has the channel."""
        begun = _clock()
        with self._database.write() as connection:
            until = self._database.now(connection) + timedelta(seconds=self._lease)
            ours = (locks.c.channel == self.channel) & (locks.c.token == self.token) & locks.c.holder.is_not(None)
            if connection.execute(update(locks).where(ours).values(lease_until=until)).rowcount == 0:
                row = connection.execute(select(locks).where(locks.c.channel == self.channel)).first()
                self._lost = fenced(self.channel, self.token, row.token if row else 0, row.holder if row else None)
                raise self._lost
        self._deadline = begun + self._lease

    def check(self) -> None:
        """Raise Fenced LCK-102 when the lock is lost; call this before anything that can't be undone."""
        if self._lost:
            raise self._lost
        if _clock() >= self._deadline:
            self.renew()

    def release(self) -> None:
        """Give the channel back; its token is never used again, and a lost lock does no harm."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()
        with self._database.write() as connection:
            ours = (locks.c.channel == self.channel) & (locks.c.token == self.token)
            connection.execute(update(locks).where(ours).values(holder=None, process=None, lease_until=None))

    def _renew_until_end(self) -> None:
        while not self._ending.wait(self._lease / 3):
            try:
                self.renew()
            except Fenced:
                return
            except DdlReplError:
                continue  # the repository may answer again before the lease ends; else check() raises

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            self.release()
        except DdlReplError:
            if error is None:
                raise  # else the lease runs out by itself, and the first error is the one to show


class Locks(Base):
    """This part of the repository hands out channel locks."""

    def lock(self, channel: str, holder: str, lease_seconds: float = 60, wait_seconds: float = 0) -> ChannelLock:
        """Take the channel, waiting for it at most wait_seconds; raise LockHeld LCK-101 when it stays held.

        holder: what others read while they wait. A lease that ran out, or whose process on this machine is
        gone, is taken over; the token grows by one each time.
        """
        last = _clock() + wait_seconds
        while True:
            taken = _clock()
            try:
                token = self._take(channel, holder, lease_seconds)
                return ChannelLock(self._database, channel, token, lease_seconds, taken)
            except LockHeld:
                left = last - _clock()
                if left <= 0:
                    raise
                time.sleep(min(left, 0.25))

    def holder(self, channel: str) -> str | None:
        """Return who holds the channel now, None when nobody does."""
        row = self._held_now(channel)
        return None if row is None else str(row.holder)

    def holder_error(self, channel: str) -> LockHeld | None:
        """Return the error that taking the channel would raise now, which says who holds it; None when it is free."""
        row = self._held_now(channel)
        return None if row is None else _lock_held(channel, row)

    def last_holder(self, channel: str) -> LockRow | None:
        """Return who has the channel, or had it and has not given it back; None: nobody."""
        row, is_live = self._last(channel)
        return None if row is None else LockRow(row.holder, row.since, is_live)

    def _held_now(self, channel: str) -> Row[Any] | None:
        row, is_live = self._last(channel)
        return row if is_live else None

    def _last(self, channel: str) -> tuple[Row[Any] | None, bool]:
        """Return the row of who has not given the channel back, and whether that run still goes on."""
        with self._database.read() as connection:
            row = connection.execute(select(locks).where(locks.c.channel == channel)).first()
            if row is None or row.holder is None:
                return None, False
            return row, row.lease_until > self._database.now(connection) and not is_gone(row.process)

    def _take(self, channel: str, holder: str, lease_seconds: float) -> int:
        with self._database.write() as connection:
            insert_new(connection, locks, {"channel": channel, "token": 0, "next_epoch": 1})
            row = connection.execute(select(locks).where(locks.c.channel == channel).with_for_update()).one()
            now = self._database.now(connection)
            if row.holder is not None and row.lease_until > now and not is_gone(row.process):
                raise _lock_held(channel, row)
            return self._write_holder(connection, row, holder, now, lease_seconds)

    def _write_holder(self, connection: Connection, row: Row[Any], holder: str, now: datetime, lease: float) -> int:
        token: int = row.token + 1
        until = now + timedelta(seconds=lease)
        values = {"token": token, "holder": holder, "process": this_process(), "since": now, "lease_until": until}
        connection.execute(update(locks).where(locks.c.channel == row.channel).values(**values))
        return token


def _lock_held(channel: str, row: Row[Any]) -> LockHeld:
    since, until = (moment.isoformat(timespec="seconds") for moment in (row.since, row.lease_until))
    return LockHeld(
        f"channel {channel} is locked by {row.holder} since {since}, at least until {until}",
        code="LCK-101",
        hint="`--wait SECONDS` lets a command wait for that run, tasks of Airflow wait by themselves;"
        " if that run has ended, the lock expires at that time",
        retryable=True,
    )
