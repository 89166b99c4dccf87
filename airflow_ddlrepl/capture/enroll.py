"""This module enrolls: it finds which DDL records of a window change the shape of a table of the channel."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import zip_longest

from airflow_ddlrepl.capture.merge_shapes import merge, merge_fields
from airflow_ddlrepl.capture.row_layouts import reshape_event
from airflow_ddlrepl.ddl.diff import diff
from airflow_ddlrepl.ddl.sql.respell import with_definitions
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey
from airflow_ddlrepl.model.revision import Origin, Revision
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.types import TypeDefinition
from airflow_ddlrepl.model.visibility import Visibility, stored_visibility
from airflow_ddlrepl.ports.types import TypeSystem

Joins = Callable[[Table, Revision | None], bool]
Past = Callable[[int], Sequence[Revision]]


def enroll(events: Iterable[Event], known: Mapping[int, Revision], joins: Joins, past: Past) -> list[Revision]:
    """Return the revisions that these events add to the newest known ones, in log order.

    joins: does a table belong to the channel (by its patterns, or because it is in it)? Asked with its newest revision,
    None for a table that the channel never had. past: all known revisions of a table, in order; asked only where a
    statement may not have seen the newest one.
    """
    book = _Book(known, past, joins)
    for event in events:
        book.read(event)
    return book.found


def enroll_with_silent(
    events: Iterable[Event], known: Mapping[int, Revision], joins: Joins, past: Past, types: TypeSystem
) -> tuple[list[Revision], list[tuple[Table, Event]]]:
    """Return the revisions as `enroll` does, and the changes that no event trigger recorded.

    Such a change shows in the next statement about its table. Each of these changes comes with the shape that the table
    was known by until then. Its place is the start of that statement's transaction, which can't have touched the table
    before; or right before the statement where the transaction has changed the table itself.
    """
    book = _Book(known, past, joins)
    silent: list[tuple[Table, Event]] = []
    for event in events:
        for shape, change in _silent(event, book, types):
            silent.append((shape, change))
            book.read(change)
        book.read(event)
    return book.found, silent


def _silent(event: Event, book: _Book, types: TypeSystem) -> Iterator[tuple[Table, Event]]:
    strange = tuple(table for table in event.before if _known_otherwise(table, book, types))
    if not strange:
        return
    settings = {"snapshot": event.settings["snapshot_before"]}
    for table in _shapes(replace(event, tables=strange, settings=settings), book):
        newest = _known_otherwise(table, book, types)
        if newest and newest.table:
            is_own = newest.key.lsn == event.key.lsn
            place = event.key.previous if is_own else LogKey(event.key.lsn, START_OF_TRANSACTION)
            yield (
                newest.table,
                replace(reshape_event(place, newest.table, table, event.transaction_id), settings=settings),
            )


def _known_otherwise(table: Table, book: _Book, types: TypeSystem) -> Revision | None:
    """Return the newest revision when it has another shape of the table than this one; else None."""
    newest = book.latest.get(table.id)
    return newest if newest and newest.table and diff(newest.table, table, types) else None


class _Book:
    """A book holds the known revisions of every table, and those that the events of a window add."""

    def __init__(self, known: Mapping[int, Revision], past: Past, joins: Joins) -> None:
        self.latest = dict(known)
        self.found: list[Revision] = []
        self._known, self._past, self._joins = known, past, joins
        self._added: dict[int, list[Revision]] = defaultdict(list)

    def read(self, event: Event) -> None:
        """Add the revisions that the next event makes."""
        if event.kind is not EventKind.DDL:
            return
        for table in _shapes(event, self):
            known = self.latest.get(table.id)
            if known and known.table and not self._joins(table, known):
                self._add(event, table.id, None)
            elif _has_new_shape(table, self.latest, self._joins):
                self._add(event, table.id, table)
        for table_id, _ in event.dropped:
            before = self.latest.get(table_id)
            if before and before.table:
                self._add(event, table_id, None)

    def _add(self, event: Event, table_id: int, table: Table | None) -> None:
        before = self.latest.get(table_id)
        transaction_id, seen = _made_by(event)
        revision = Revision(
            table_id=table_id,
            number=before.number + 1 if before else 0,
            key=event.key,
            table=table,
            origin=Origin.INSPECTED if event.is_inspected else Origin.IN_LOG,
            statement=event.statement,
            is_ambiguous=event.is_inspected,
            transaction_id=transaction_id,
            seen=seen,
        )
        self.latest[table_id] = revision
        self.found.append(revision)
        self._added[table_id].append(revision)
        for definition in table.types if table else ():
            self._users[definition.id].add(table_id)
            type_history = self.type_history[definition.id]
            if type_history and type_history[-1][0].key.lsn == event.key.lsn:
                type_history.pop()
            type_history.append((revision, definition))

    def history(self, table_id: int) -> list[Revision]:
        newest = self._known.get(table_id)
        older = self._past(table_id) if newest and newest.number else [newest] if newest else []
        return [*older, *self._added[table_id]]

    def history_of(self, type_id: int) -> Iterator[tuple[Revision, TypeDefinition]]:
        """Yield a type's definition in each revision of the tables that use it or have used it."""
        for revision in (r for i in self._users[type_id] for r in self.history(i)):
            for definition in revision.table.types if revision.table else ():
                if definition.id == type_id:
                    yield revision, definition

    @cached_property
    def type_history(self) -> dict[int, list[tuple[Revision, TypeDefinition]]]:
        """Return the definitions of each type (by id), in order, with the revisions that have them.

        These are the newest known revision of each table, and the last one of each transaction that adds some.
        """
        type_history: dict[int, list[tuple[Revision, TypeDefinition]]] = defaultdict(list)
        for revision in sorted(self.latest.values(), key=lambda revision: revision.key):
            for definition in revision.table.types if revision.table else ():
                type_history[definition.id].append((revision, definition))
        return type_history

    @cached_property
    def _users(self) -> dict[int, set[int]]:
        return defaultdict(
            set, {i: {r.table_id for r, _ in type_history} for i, type_history in self.type_history.items()}
        )


def snapshot_of(event: Event) -> Visibility | None:
    """Return what the statement's transaction, or the inspection, saw; None where the record does not have it."""
    text = event.settings.get("snapshot")
    return stored_visibility(text) if text else None


def _made_by(event: Event) -> tuple[int | None, Visibility | None]:
    """Return the id of the transaction where the record has it; of an inspected change, what the inspection saw."""
    snapshot = snapshot_of(event)
    if snapshot is None or event.is_inspected:
        return None, snapshot
    return snapshot.widen(event.transaction_id), None


def _shapes(event: Event, book: _Book) -> Iterator[Table]:
    """Yield the shape that each of the event's tables has after it, merged with changes that the statement missed."""
    types = _unseen_types(event, book)
    for seen in event.tables:
        table = _now(seen, event, book, types)
        if table is not None:
            yield table


def _now(seen: Table, event: Event, book: _Book, types: Mapping[int, TypeDefinition]) -> Table | None:
    """Return a table's shape after a statement, with the changes that committed before it but that it did not see.

    None: the table is gone by then. A statement about a type records the shapes of all tables that use it without a
    lock on them, and one in a REPEATABLE READ transaction records what its snapshot shows: so other transactions can
    have changed the table.
    """
    snapshot = snapshot_of(event)
    if snapshot is None or event.is_inspected:
        return seen

    def is_seen(revision: Revision) -> bool:
        return revision.key.lsn == event.key.lsn or revision.is_in(snapshot)

    if not seen.types and _sees_all(snapshot, book.latest.get(seen.id), event):
        return seen
    table: Table = seen
    base: Table | None = None
    history = book.history(seen.id)
    for revision, following in zip_longest(history, history[1:]):
        if is_seen(revision):
            base = revision.table
        elif revision.table is None:
            return None
        elif following is None or is_seen(following):  # all unseen ones at once: a type may be used before and after
            table = merge(base, table, revision.table) if base else revision.table
            base = revision.table
    return with_definitions(table, types)


def _sees_all(snapshot: Visibility, newest: Revision | None, event: Event) -> bool:
    """Does the snapshot of an event contain all earlier changes of a table? newest: the table's last revision.

    Each locks the table, so the newest one came after the others could be seen. It is so where no user's type is used:
    others change types without a lock on the tables.
    """
    if newest is None:
        return True
    is_locked = newest.table is not None and not newest.table.types and newest.transaction_id is not None
    is_earlier = newest.key.lsn != event.key.lsn
    return is_locked and is_earlier and snapshot.is_quiet and newest.is_in(snapshot)


def _unseen_types(event: Event, book: _Book) -> dict[int, TypeDefinition]:
    """Return types (by id) that other transactions changed unseen, merged with how the statement records them."""
    snapshot = snapshot_of(event)
    if snapshot is None or event.is_inspected:
        return {}
    found: dict[int, TypeDefinition] = {}
    for own in {t.id: t for table in event.tables for t in table.types}.values():
        others = ((r, t) for r, t in reversed(book.type_history[own.id]) if r.key.lsn != event.key.lsn)
        revision, theirs = next(others, (None, own))
        if revision is None or revision.is_in(snapshot):
            continue
        seen = [p for p in book.history_of(own.id) if p[0].is_in(snapshot) and p[0].key.lsn != event.key.lsn]
        _, base = max(seen, key=lambda found: found[0].key, default=(None, None))
        found[own.id] = merge_fields(base, own, theirs) if base else theirs
    return found


def _has_new_shape(table: Table, latest: Mapping[int, Revision], joins: Joins) -> bool:
    known = shape_of(latest, table.id)
    if known is None:
        return not table.unlogged and belongs(table, latest, joins)
    return known != table


def belongs(table: Table, latest: Mapping[int, Revision], joins: Joins) -> bool:
    """Return whether the table is in the channel, or would join it.

    It joins by its own name, or as a partition of a table that is in the channel.
    """
    if shape_of(latest, table.id) is not None or joins(table, latest.get(table.id)):
        return True
    return table.partition is not None and shape_of(latest, table.partition.of) is not None


def shape_of(latest: Mapping[int, Revision], table_id: int) -> Table | None:
    """Return a table's newest shape; None when it is not in the channel (any more)."""
    revision = latest.get(table_id)
    return revision.table if revision else None


def shapes_in(history: Mapping[int, Sequence[Revision]]) -> Callable[[int, LogKey], Table | None]:
    """Return a function that gives the enrolled shape of a table at a place in the log, by the tables' revisions."""

    def shape_at(table_id: int, key: LogKey) -> Table | None:
        valid = valid_at(history.get(table_id, ()), key)
        return valid.table if valid else None

    return shape_at


def valid_at(revisions: Iterable[Revision], key: LogKey) -> Revision | None:
    """Return the revision that rows at `key` are decoded with, of one table's revisions, which come in order."""
    valid = None
    for revision in revisions:
        if revision.key > key:
            break
        valid = revision
    return valid
