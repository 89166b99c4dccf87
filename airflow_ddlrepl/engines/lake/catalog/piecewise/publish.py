"""This module has a catalog publish what a transaction of the database has of a window, one table after the other.

A table is changed by the one step that moves its pointer, if that is what it was when the window was begun. What was
stored as an intent is gone through again where a run was killed: a step that is taken already is found taken. A table
that somebody else has changed meanwhile stays as they left it, and so does what the database has of it: it is
suspended, and the log brings it up from there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import Connection

from airflow_ddlrepl.engines.lake.catalog.intents.intents import Writes, noted
from airflow_ddlrepl.engines.lake.catalog.piecewise.port import Metadata, OneByOne
from airflow_ddlrepl.engines.lake.catalog.piecewise.steps import Publication, Step
from airflow_ddlrepl.engines.lake.connection.conflicts import written_meanwhile
from airflow_ddlrepl.errors import CannotAdapt, TableReplaced, WrittenMeanwhile
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.model.names import TableName

log = logging.getLogger("ddlrepl")


class Otherwise:
    """This is what the database has of a table that a window could not change: here nothing else than of others."""

    def look(self, connection: Connection, steps: Sequence[Step]) -> None:
        """See what the database has with the window."""

    def as_it_was(self, connection: Connection, step: Step) -> None:
        """Write what the database has of a table that stays as it was before the window, in the open transaction."""

    def unnamed(self, connection: Connection, step: Step) -> None:
        """Write what it has of a table that is not there by its name, in the open transaction."""


NOTHING = Otherwise()


@dataclass(frozen=True, slots=True)
class Piecewise:
    """It publishes windows in one catalog. content: returns what a metadata file has, by its path."""

    catalog: OneByOne
    content: Callable[[str], Metadata]

    def require_unchanged(self, publication: Publication) -> None:
        """Raise WrittenMeanwhile TGT-112 where somebody else has written to a table of the window since its begin."""
        for step in publication.steps:
            if step.origin is not None and self.catalog.of(step.origin) != step.base:
                raise written_meanwhile(step.origin)

    def publish(self, publication: Publication, is_open: Callable[[], bool]) -> Writes | None:
        """Take all steps that are not taken yet; return what the database is to do besides its own writes.

        is_open: says whether no other run has ended the publication. One that took this run for killed may have, and
        may have taken back since what a name leads to: so a name is given only while it is open.
        None: somebody else has changed all of the tables, so that nothing of the window is there.
        """
        stay = list(self._changed_by_others(publication))
        for path, old, new in publication.renames:
            if not any(one.origin == old for one in stay) and is_open():
                self._rename(path, old, new)
        unnamed = [step for step in publication.steps if step not in stay and not self._is_named(step, is_open)]
        if len(stay) + len([one for one in unnamed if one.origin is None]) == len(publication.steps):
            return None
        for step in [*stay, *unnamed]:
            log.error("somebody else has changed %s in the lake: it stays behind the other tables", step.table)
        found = [write for step in reversed(stay) for write in step.as_it_was]  # one may have the name of another
        return [*found, *(write for step in unnamed for write in step.unnamed)]

    def _changed_by_others(self, publication: Publication) -> Iterator[Step]:
        """Change the tables that are there; yield those that somebody else has changed, and what needs their names."""
        stay = set[TableName]()
        for step in publication.steps:
            if step.origin is None:
                continue
            needs_other = step.name != step.origin and step.name in stay
            if needs_other or not self._is_taken(step, publication):
                stay.add(step.origin)
                yield step
            reach("lake.swapped")

    def _is_taken(self, step: Step, publication: Publication) -> bool:
        """Take a step, up to a new name of the table; say whether it is taken."""
        assert step.origin is not None
        if step.name is None:
            return self._is_dropped(step.origin, step)
        others = [new for path, _, new in publication.renames if path == step.new]
        if any(self._is_there(name, step) for name in others):
            return True
        for _ in range(2):
            now = self.catalog.of(step.origin)
            if now is None or self._is_done(now, step):
                return now is not None
            if now != step.base:
                return False
            with suppress(WrittenMeanwhile):  # by this very step of a run that takes this one for killed, maybe
                self.catalog.swap(step.origin, step.base, step.new, self.content(step.new))
                return True
        return False

    def _is_dropped(self, name: TableName, step: Step) -> bool:
        if (now := self.catalog.of(name)) == step.base:
            with suppress(WrittenMeanwhile):
                self.catalog.drop(name, step.base)
                return True
            now = self.catalog.of(name)
        return now is None or self.content(now)["table-uuid"] != step.uuid  # another one has its name by now

    def _rename(self, path: str, old: TableName, new: TableName) -> None:
        """Give a table another name, where it has it not yet. path: a metadata file that it has, or had before."""
        there = self.catalog.of(old)
        if there is None or not self._comes_from(there, path):
            return
        if (now := self.catalog.of(new)) is None:
            with suppress(CannotAdapt):  # somebody else has the name by now
                self.catalog.add(new, there, self.content(there))
            now = self.catalog.of(new)
        reach("lake.renaming")
        if now is not None and self._comes_from(now, path):
            try:
                self.catalog.drop(old, there)
            except WrittenMeanwhile:
                log.error("somebody has written to %s while it was renamed: their table has the old name", old)

    def _is_named(self, step: Step, is_open: Callable[[], bool]) -> bool:
        """Is the table there by its name? A new one is made."""
        if step.name is None:
            return True
        if step.origin is None and is_open():
            with suppress(CannotAdapt):
                self.catalog.add(step.name, step.new, self.content(step.new))
        return self._is_there(step.name, step)

    def _is_there(self, name: TableName, step: Step) -> bool:
        now = self.catalog.of(name)
        return now is not None and self._is_done(now, step)

    def _is_done(self, now: str, step: Step) -> bool:
        """Has a table what a step has it have? now: the path of its metadata file."""
        if self._comes_from(now, step.new):
            return True
        return step.snapshot in {one["snapshot-id"] for one in self.content(now).get("snapshots", ())}

    def _comes_from(self, now: str, path: str) -> bool:
        """Is a table's metadata that of an earlier file, or did it have that before?"""
        if now == path:
            return True
        found, wanted = self.content(now), self.content(path)
        if found == wanted:  # a Hadoop catalog has it under a name of its own
            return True
        same_time = [one for one in found.get("metadata-log", ()) if one["timestamp-ms"] == wanted["last-updated-ms"]]
        return any(one["metadata-file"] == path or self._has(one["metadata-file"], wanted) for one in same_time)

    def _has(self, path: str, wanted: Metadata) -> bool:
        with suppress(TableReplaced):  # a file that is gone
            return self.content(path) == wanted
        return False


def noted_writes(connection: Connection, write: Callable[[Connection, Step], None], step: Step) -> Writes:
    """Return what the database is to do where a step can't be taken; nothing of it is done now."""
    with noted(connection) as writes, connection.begin_nested() as savepoint:
        write(connection, step)
        savepoint.rollback()
    return writes
