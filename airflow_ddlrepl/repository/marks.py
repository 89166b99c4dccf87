"""This part of the repository stores the marks that captures have written to the source."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import bindparam, delete, func, select, update

from airflow_ddlrepl.model.marks import Mark
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.repository.base import Base, upsert
from airflow_ddlrepl.repository.stored.tables import channels, marks, positions

REMEMBERED = 100_000
CLAIMED = "mark of target "
CLAIMED_BY = "token of target "
_NEWEST = select(marks.c.number, marks.c.token).where(marks.c.channel == bindparam("channel"))
_NEWEST = _NEWEST.order_by(marks.c.number.desc()).limit(1)
_TOKEN = select(marks.c.token).where(marks.c.channel == bindparam("channel"), marks.c.number == bindparam("number"))


class Claim(NamedTuple):
    """A claim is what a target has of the last run that claimed it: the number of its newest mark, and its token.

    token: 0 where an earlier version has stored the claim.
    """

    number: int
    token: int


class Marks(Base):
    """This part of the repository stores marks: of each capture one, the newest hundred thousand."""

    def newest_mark(self, channel: str) -> Mark | None:
        """Return the mark that the last capture has written to the source; None: no capture has written one."""
        with self._database.read() as connection:
            row = connection.execute(_NEWEST, {"channel": channel}).first()
            return Mark(row.number, row.token) if row else None

    def has_mark(self, channel: str, mark: Mark) -> bool:
        """Is the mark one that a capture of this repository has written, as far as that is remembered?"""
        with self._database.read() as connection:
            token = connection.execute(_TOKEN, {"channel": channel, "number": mark.number}).scalar()
            if token is not None:
                return bool(token == mark.token)
            first = connection.execute(select(func.min(marks.c.number)).where(marks.c.channel == channel)).scalar()
            return first is not None and mark.number < first

    def has_written(self, channel: str, text: str) -> bool:
        """Is the text the token of a mark which a capture of this repository has written?"""
        query = select(marks.c.number).where(marks.c.channel == channel, marks.c.token == text)
        with self._database.read() as connection:
            return connection.execute(query).first() is not None

    def set_mark(self, channel: str, token: int, mark: Mark, lsn: Position) -> None:
        """Store the mark that the source has from now on, with the position up to which the log is captured next."""
        with self._fenced(channel, token) as connection:
            now = self._database.now(connection)
            key = {"channel": channel, "number": mark.number}
            upsert(connection, marks, key, {"token": mark.token, "lsn": int(lsn), "made": now})
            old = (marks.c.channel == channel) & (marks.c.number <= mark.number - REMEMBERED)
            connection.execute(delete(marks).where(old))

    def marked_at(self, channel: str, number: int) -> datetime | None:
        """Return when the mark with this number was written; None: that is not remembered."""
        query = select(marks.c.made).where(marks.c.channel == channel, marks.c.number == number)
        with self._database.read() as connection:
            found: datetime | None = connection.execute(query).scalar()
            return found

    def claimed_with(self, channel: str, target: str) -> Claim | None:
        """Return the last claim of the target by a run; None: no run has claimed it with a mark."""
        kinds = (CLAIMED + target, CLAIMED_BY + target)
        query = select(positions.c.kind, positions.c.lsn).where(
            positions.c.channel == channel, positions.c.kind.in_(kinds)
        )
        with self._database.read() as connection:
            found = {kind: int(number) for kind, number in connection.execute(query)}
        return Claim(found[kinds[0]], found.get(kinds[1], 0)) if kinds[0] in found else None

    def set_claimed_with(self, channel: str, token: int, target: str, number: int) -> None:
        """Store the number of the mark that the target has now, and the token of the run that has claimed it."""
        with self._fenced(channel, token) as connection:
            now = self._database.now(connection)
            for kind, value in ((CLAIMED, number), (CLAIMED_BY, token)):
                upsert(
                    connection, positions, {"channel": channel, "kind": kind + target}, {"lsn": value, "updated": now}
                )

    def raise_epoch(self, channel: str, token: int, epoch: int) -> None:
        """Let the channel's epoch be at least this one: a copy of the repository knew none of the later ones."""
        later = (channels.c.name == channel) & (channels.c.epoch < epoch)
        with self._fenced(channel, token) as connection:
            connection.execute(update(channels).where(later).values(epoch=epoch))

    def reads(self, channel: str, source: str) -> bool:
        """Does the channel read the source database with this identity?"""
        query = select(channels.c.name).where(channels.c.name == channel, channels.c.source == source)
        with self._database.read() as connection:
            return connection.execute(query).first() is not None

    def accept_source(self, channel: str, token: int, source: str) -> None:
        """Bind the channel to a source whose identity has changed, which was shown to be the same database."""
        with self._fenced(channel, token) as connection:
            connection.execute(update(channels).where(channels.c.name == channel).values(source=source))
