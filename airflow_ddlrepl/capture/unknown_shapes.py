"""This module finds tables whose shape at a position is uncertain, as the log after it shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from airflow_ddlrepl.capture.enroll import snapshot_of
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, Position
from airflow_ddlrepl.model.revision import Revision

WITHOUT_LOCK = frozenset({"ALTER TYPE", "ALTER DOMAIN", "ALTER SCHEMA", "ALTER EXTENSION"})


def unknown_shapes(
    events: Iterable[Event], revisions: Mapping[int, Sequence[Revision]], at: Position, end: Position
) -> dict[int, str]:
    """Return why the shapes of tables (by id) at a position are not known; tables whose shape is known are not in it.

    events: from the inspection of the catalog before the position to the one after it, which was at `end`. revisions:
    all of each table, in order. A table that got none between the position and `end` was found as it was known.
    """
    events = [e for e in events if e.kind in (EventKind.DDL, EventKind.GAP) and e.key.lsn < at]
    changes = [e for e in events if not e.is_inspected]
    by_rows = {(table.id, e.key) for e in events if _is_by_rows(e) for table in e.tables}
    gap = next((e for e in reversed(changes) if e.kind is EventKind.GAP), None)
    found: dict[int, str] = {}
    for table_id, history in revisions.items():
        valid = next((r for r in reversed(history) if r.key.lsn < at), None)
        if valid and valid.table and valid.table.types and (table_id, valid.key) in by_rows:
            since = Position(valid.key.lsn)
            found[table_id] = f"since {since} its rows show its columns, not their types; these are known at {end}"
            continue
        later = next((r for r in history if r.key.lsn >= at), None)
        if later is None or later.key.lsn >= end:
            continue
        later_on = f"its shape is known again at {Position(later.key.lsn)}"
        if gap is not None:
            found[table_id] = (
                f"the schema change at {Position(gap.key.lsn)} is not in the log ({gap.statement}): {later_on}"
            )
        elif (blind := _blind(changes, table_id, history)) is not None:
            found[table_id] = (
                f"the schema change at {Position(blind.key.lsn)} does not show everything before it: {later_on}"
            )
        elif later.is_ambiguous:
            found[table_id] = f"nothing in the log shows when it changed: {later_on}"
    return found


def _is_by_rows(event: Event) -> bool:
    """Was the shape of an inspection found to be that of earlier rows? Its event then has the first one's place."""
    return event.is_inspected and event.transaction_id > 0 and event.key.seq != START_OF_TRANSACTION


def _blind(changes: Iterable[Event], table_id: int, history: Sequence[Revision]) -> Event | None:
    """Return the statement about the table that did not see an older change of it, and that no later one makes up for.

    Its transaction is a REPEATABLE READ one. Statements about a type hold no lock on the table, and change nothing of
    it but the type: what they did not see is put together with that.
    """
    blind: Event | None = None
    for event in changes:
        snapshot = snapshot_of(event)
        if snapshot is None or all(table.id != table_id for table in event.tables):
            continue
        older = (r for r in history if r.key < event.key and r.key.lsn != event.key.lsn)
        if all(revision.is_in(snapshot) for revision in older):
            blind = None
        elif event.tag not in WITHOUT_LOCK:
            blind = event
    return blind
