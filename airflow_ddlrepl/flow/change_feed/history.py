"""This module finds the table of a change feed, and the revisions that its changes have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from airflow_ddlrepl.errors import TrailError
from airflow_ddlrepl.flow.change_feed.options import FeedOptions
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey, Position
from airflow_ddlrepl.model.revision import Revision


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch is where one revision of a table is valid, cut to the part that a feed reads: low <= change < high."""

    revision: Revision
    low: LogKey
    high: LogKey


@dataclass(frozen=True, slots=True)
class History:
    """A history has the stretches of one table that a feed reads, and the revisions that make the feed's columns.

    Without any change to read, these are the table's newest ones.
    """

    table_id: int
    stretches: list[Stretch]
    revisions: list[Revision]

    def between(self, start: Position, end: Position) -> History:
        """Return the history with the parts of its stretches between two positions."""
        low, high = LogKey(start, START_OF_TRANSACTION), LogKey(end, START_OF_TRANSACTION)
        cuts = [replace(s, low=max(low, s.low), high=min(high, s.high)) for s in self.stretches]
        return replace(self, stretches=[s for s in cuts if s.low < s.high])


def history(run: RunContext, options: FeedOptions, start: Position, end: Position) -> History:
    """Return the history of the feed's table between two positions; where the table is dropped, it ends.

    Raises TrailError TRL-121 where the table is unknown, is partitioned, or was two tables in that time; TRL-123 where
    the options ask for one revision, and several are there.
    """
    histories = run.repository.histories(run.channel.name)
    named = {i: found for i, found in histories.items() if _bears(found, options)}
    if not named:
        raise _unknown(options, f"the channel has no table {options.table}", "`ddlrepl status` lists its tables")
    alive = {i: cut(found, start, end) for i, found in named.items()}
    there = {i: found for i, found in alive.items() if any(_is_called(s.revision, options) for s in found)}
    if len(there) > 1:
        ids = ", ".join(f"{i} from {Position(found[0].low.lsn)} on" for i, found in sorted(there.items()))
        raise _unknown(options, f"several tables were called {options.table}: {ids}", "choose one by `table_id`")
    table_id = max(there or {i: found for i, found in alive.items() if found} or named)
    known = [r for r in named[table_id] if r.table is not None]
    if known[-1].table.is_partitioned:  # type: ignore[union-attr]
        raise _unknown(
            options, f"{options.table} is partitioned: the log has rows of its partitions only", "read each partition"
        )
    found = alive[table_id]
    if not options.is_merged:
        found = _one_revision(found, options)
    return History(table_id, found, [s.revision for s in found] or known[-1:])


def _one_revision(found: list[Stretch], options: FeedOptions) -> list[Stretch]:
    if options.revision is None and len(found) > 1:
        each = ", ".join(f"{s.revision.number} from {Position(s.low.lsn)} on" for s in found)
        raise TrailError(
            f"there are changes of several revisions: {each}",
            code="TRL-123",
            table=options.table,
            hint='choose one by option("revision", …), or leave option("schema") out to merge their columns',
        )
    if options.revision is None:
        return found
    chosen = [s for s in found if s.revision.number == options.revision]
    if not chosen:
        each = ", ".join(str(s.revision.number) for s in found) or "none"
        message = f"revision {options.revision} is not valid between the feed's start and its end"
        raise TrailError(message, code="TRL-123", table=options.table, hint=f"these are: {each}")
    return chosen


def cut(revisions: Sequence[Revision], start: Position, end: Position) -> list[Stretch]:
    """Return the stretches of a table's revisions, in order, that have a part between two positions."""
    found = []
    low, high = LogKey(start, START_OF_TRANSACTION), LogKey(end, START_OF_TRANSACTION)
    nexts = [revision.key for revision in revisions[1:]] + [high]
    for revision, following in zip(revisions, nexts, strict=True):
        here = Stretch(revision, max(low, revision.key), min(high, following))
        if revision.table is not None and here.low < here.high:
            found.append(here)
    return found


def _bears(revisions: Sequence[Revision], options: FeedOptions) -> bool:
    if options.table_id is not None:
        return revisions[0].table_id == options.table_id
    return any(_is_called(revision, options) for revision in revisions)


def _is_called(revision: Revision, options: FeedOptions) -> bool:
    if revision.table is None:
        return False
    return options.table_id is not None or revision.table.name == options.table


def _unknown(options: FeedOptions, message: str, hint: str) -> TrailError:
    return TrailError(message, code="TRL-121", table=options.table, hint=hint)
