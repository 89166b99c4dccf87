"""Enroll revisions: which DDL records of a window give a table of the channel a new shape."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey, Snapshot
from airflow_ddlrepl.model.revision import Origin, Revision
from airflow_ddlrepl.model.table import Table

_OF_TYPES = re.compile(r"\s*ALTER\s+(TYPE|DOMAIN|SCHEMA|EXTENSION)\b", re.IGNORECASE)

Scope = Callable[[TableName], bool]


def enroll(events: Iterable[Event], known: Mapping[int, Revision], admits: Scope) -> list[Revision]:
    """The revisions that these events add to the known newest ones, in log order.

    admits: does a table that is new to the channel belong to it (by its patterns)? A table that is
    already in the channel stays in it whatever it is renamed to.
    """
    latest = dict(known)
    found: list[Revision] = []

    def add(event: Event, table_id: int, table: Table | None) -> None:
        before = latest.get(table_id)
        origin = Origin.INSPECTED if event.is_inspected else Origin.IN_LOG
        revision = Revision(
            table_id=table_id,
            number=before.number + 1 if before else 0,
            key=event.key,
            table=table,
            origin=origin,
            statement=event.statement,
            is_ambiguous=event.is_inspected,
            xid=None if event.is_inspected else event.xid,
        )
        latest[table_id] = revision
        found.append(revision)

    for event in events:
        if event.kind is not EventKind.DDL:
            continue
        for seen in event.tables:
            table = _now(seen, event, latest.get(seen.id))
            if table is not None and _is_news(table, latest, admits):
                add(event, table.id, table)
        for table_id, _ in event.dropped:
            before = latest.get(table_id)
            if before and before.table:
                add(event, table_id, None)
    return found


def _now(seen: Table, event: Event, newest: Revision | None) -> Table | None:
    """The shape of a table that a statement saw, once the statement is committed; None: the table is gone by then.

    A statement about a type tells the shapes of all tables that use it, without a lock on them; and one in a
    REPEATABLE READ transaction tells what its snapshot shows. So another transaction can have changed or dropped the
    table unseen and committed before. Then only the types are news; what else there is, the inspection finds. The
    other way round, a statement about a table has not seen that a type of it changed: then the types are not news.
    """
    if newest is None or event.is_inspected or newest.key.lsn == event.key.lsn:
        return seen
    snapshot = event.settings.get("snapshot")
    if snapshot is None or newest.xid is None or Snapshot.parse(snapshot).sees(newest.key.lsn, newest.xid):
        return seen
    if newest.table is None:
        return None
    if not _OF_TYPES.match(event.tag) and _OF_TYPES.match(newest.statement or ""):
        return _with_types_of(seen, newest.table)
    return _with_types_of(newest.table, seen)


def _with_types_of(table: Table, seen: Table) -> Table:
    """The table with its types as the other one has them: their definitions, and how columns spell them."""
    later = {definition.oid: definition for definition in seen.types}
    spelled = {(column.type.oid, column.type.typmod): column.type for column in seen.columns}
    return table.with_(
        types=tuple(later.get(t.oid, t) for t in table.types),
        columns=tuple(replace(c, type=spelled.get((c.type.oid, c.type.typmod), c.type)) for c in table.columns),
    )


def _is_news(table: Table, latest: Mapping[int, Revision], admits: Scope) -> bool:
    known = shape_of(latest, table.id)
    if known is None:
        return not table.unlogged and belongs(table, latest, admits)
    return known.fingerprint() != table.fingerprint()


def belongs(table: Table, latest: Mapping[int, Revision], admits: Scope) -> bool:
    """Is it in the channel, or would it join: by its own name, or as a partition of a table that is in?"""
    if shape_of(latest, table.id) is not None or admits(table.name):
        return True
    return table.partition is not None and shape_of(latest, table.partition.of) is not None


def shape_of(latest: Mapping[int, Revision], table_id: int) -> Table | None:
    """A table's newest shape; None when it is not in the channel (any more)."""
    revision = latest.get(table_id)
    return revision.table if revision else None


def valid_at(revisions: Iterable[Revision], key: LogKey) -> Revision | None:
    """The revision of one table (given in order) that rows at `key` are decoded with."""
    valid = None
    for revision in revisions:
        if revision.key > key:
            break
        valid = revision
    return valid
