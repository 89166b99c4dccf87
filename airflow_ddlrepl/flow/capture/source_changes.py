"""What changed at the source without a record in the log is found by comparing it with what the last capture saw."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from airflow_ddlrepl.capture.drift import Inspection
from airflow_ddlrepl.capture.feed_changes import (
    TAKEN_OUT,
    UNSURE,
    changed,
    lacking_rows,
    unnamed,
    versions_seen,
)
from airflow_ddlrepl.capture.row_layouts import due_event, unnamed_event
from airflow_ddlrepl.capture.source_record import REWRITTEN, RowsVersion, SourceRecord, follow_rows, rewritten
from airflow_ddlrepl.config.sections.policies import DdlCapture
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.flow.capture.drift_check import INSPECTED
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.source_records import MAY_MISS, last_record, problems, store_record
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey, Position
from airflow_ddlrepl.model.table import Table

MOST_SHOWN = 5  # so many objects are named
MOST_GAPS = 3  # so many are remembered, for the status


def look(run: RunContext, late: Iterable[int] = ()) -> SourceRecord:
    """Return the last record with what is set up at the source now, and with what was done to it since as due.

    late: ids of tables that wait for their first load anyhow. Warns of what is not as it should be.
    """
    known, now = last_record(run), run.source.membership.installation()
    for problem in problems(run, now):
        log.warning("the source: %s; %s", problem.what, problem.fix)
    tables = {i: r.table for i, r in run.repository.latest_revisions(run.channel.name).items() if r.table}
    lacking = lacking_rows(known.feed, now.feed)
    due = {i: why for i, why in lacking.items() if i in tables and i not in set(late)}
    found = replace(known, versions=versions_seen(known.versions, now), feed=now.feed, due={**known.due, **due})
    if what := changed(known.versions, now):
        since = run.repository.position(run.channel.name, INSPECTED) or run.captured()
        shown = [*what[:MOST_SHOWN], *([f"and {len(what) - MOST_SHOWN} more"] if len(what) > MOST_SHOWN else [])]
        told = f"between {since} and {run.source.log_end()}: {', '.join(shown)}: {MAY_MISS}"
        found = replace(found, gaps=(*known.gaps, told)[-MOST_GAPS:], is_gap_due=True)
    if found.is_gap_due:
        log.warning("the source: %s. Tables whose rows may have changed are loaded again", found.gaps[-1])
    return found


def require_triggers(run: RunContext) -> None:
    """Raise SourceError SRC-135 where the file says `ddl: triggers`, and the triggers would not record everything."""
    if run.channel.source.ddl is DdlCapture.TRIGGERS and (found := problems(run, run.source.membership.installation())):
        raise SourceError(
            "the channel requires event triggers, and they do not record everything: "
            + "; ".join(problem.what for problem in found),
            code="SRC-135",
            hint="`ddlrepl activate` as a superuser installs them again; the next run finds out what happened since."
            " Or set `ddl: auto` in the channel file, so that shapes are compared where records are missing",
        )


def reloads(
    run: RunContext, low: Position, high: Position, events: Sequence[Event], inspection: Inspection, *, is_last: bool
) -> list[Event]:
    """Return an event for each table that a refresh has to load, as the log lacks rows of it, and one for a gap.

    events: of the window [low, high). is_last: the inspection was made at its end.
    """
    rows, unseen = follow_rows(last_record(run).rows, events)
    if is_last and inspection.version:
        unseen |= rewritten(rows, inspection.tables, busy(inspection, events))
    filled = {i for event in events for i in event.filled}  # a record says already that the log lacks rows of these
    due = {i: why for i, why in inspection.due.items() if why != TAKEN_OUT or i not in filled}
    found = {**dict.fromkeys(unseen, REWRITTEN), **due}
    ours = run.repository.latest_revisions(run.channel.name)
    names = {i: table.name for i in sorted(found) if i in ours and (table := ours[i].table) is not None}
    for table_id, name in names.items():
        log.warning("%s waits to be loaded again: %s (between %s and %s)", name, found[table_id], low, high)
    key, until = LogKey(low, START_OF_TRANSACTION), high.previous
    unnamed = [unnamed_event(i, key, until) for i in sorted(inspection.unnamed & ours.keys())]
    gap = [Event(EventKind.GAP, key, transaction_id=0, committed=0, statement=inspection.gap)] if inspection.gap else []
    return gap + unnamed + [due_event(i, key, until, found[i]) for i in names]


def due_in(found: SourceRecord) -> dict[str, Any]:
    """Return what `look` has found for the next window, as fields of its inspection."""
    return {"due": found.due, "gap": found.gaps[-1] if found.is_gap_due else ""}


def has_unlogged_changes(run: RunContext, inspection: Inspection) -> bool:
    """Would a capture find that the source was changed without a record in the log?"""
    known, now = last_record(run), run.source.membership.installation()
    is_rewritten = bool(inspection.version and rewritten(known.rows, inspection.tables, inspection.locked))
    ours = run.repository.latest_revisions(run.channel.name)
    lacking = lacking_rows(known.feed, now.feed).keys() & ours.keys()
    is_named = not unnamed(known.sessions, run.source.membership.session_names())
    is_due = known.is_gap_due or bool(known.due or lacking or changed(known.versions, now))
    return is_rewritten or is_due or not is_named


def busy(inspection: Inspection, events: Iterable[Event]) -> set[int]:
    """Return the tables that the inspection has not seen as the last statement about them has left them."""
    stated = (e for e in events if e.kind is EventKind.DDL and not e.is_inspected)  # else it is the inspection's own
    unseen = (e for e in stated if not inspection.snapshot.sees(e.key.lsn, e.transaction_id))
    return set(inspection.locked).union(*({t.id for t in e.tables} | {i for i, _ in e.dropped} for e in unseen))


def record_events(run: RunContext, events: Iterable[Event]) -> None:
    """Store what the statements of a window say of the source."""
    known = last_record(run)
    rows, _ = follow_rows(known.rows, events)
    store_record(run, known, replace(known, rows=rows))


def record_inspection(run: RunContext, inspection: Inspection, events: Sequence[Event], found: SourceRecord) -> None:
    """Store what a capture has found at its end. events: of its windows, which have what was due. found: by `look`."""
    known, away = last_record(run), busy(inspection, events)
    rows = known.rows
    if inspection.version:
        present = {t.id: v for t in inspection.tables if t.id not in away and (v := RowsVersion.of(t))}
        rows = {i: v for i, v in rows.items() if i in away} | present
    joined = {i for e in events for i in (*e.filled, *(t.id for t in e.tables if e.is_inspected))}
    unsure = dict.fromkeys(away | joined, UNSURE)  # what the capture itself has put into the feed came after the look
    feed = found.feed and replace(found.feed, tables={**found.feed.tables, **unsure})
    store_record(run, known, replace(found, rows=rows, feed=feed, due={}, is_gap_due=False))


def record_activation(run: RunContext, tables: Iterable[Table], found: SourceRecord | None, *, begins: bool) -> None:
    """Store what an activation has set up.

    found: by `look`, before it; None: nothing was known. begins: every table is loaded; else a capture looks at those
    that were known before.
    """
    known, now = found or SourceRecord(), run.source.membership.installation()
    rows = {t.id: v for t in tables if (v := RowsVersion.of(t))}
    due = {} if begins else known.due
    made = replace(known, rows=rows if begins else {**rows, **known.rows}, due=due)
    made = replace(made, sessions=run.source.membership.session_names() if begins else known.sessions)
    store_record(run, last_record(run), replace(made, versions=dict(now.versions), feed=now.feed))
