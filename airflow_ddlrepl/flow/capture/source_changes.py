"""What changed at the source without a record in the log is found by comparing it with what the last capture saw."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from airflow_ddlrepl.capture.drift import Inspection
from airflow_ddlrepl.capture.row_layouts import unreadable_event
from airflow_ddlrepl.capture.source_record import REWRITTEN, RowsVersion, SourceRecord, follow_rows, rewritten
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey, Position
from airflow_ddlrepl.model.table import Table


def last_record(run: RunContext) -> SourceRecord:
    """Return what the last capture found at the source; an empty record before the first one."""
    return SourceRecord.from_json(run.repository.source_record(run.channel.name) or {})


def reloads(
    run: RunContext, low: Position, high: Position, events: Sequence[Event], inspection: Inspection | None
) -> list[Event]:
    """Return an event for each table that a refresh has to load, as rows of it changed without a record in the log.

    events: of the window [low, high). inspection: of the catalog at its end; None: it was not looked at there.
    """
    known = last_record(run)
    rows, found = follow_rows(known.rows, events)
    if inspection is not None and inspection.version:
        found |= rewritten(rows, inspection.tables, busy(inspection, events))
    ours = run.repository.latest_revisions(run.channel.name)
    named = {i: ours[i].table for i in sorted(found) if i in ours}
    for table in named.values():
        log.warning("%s waits to be loaded again: %s (between %s and %s)", table and table.name, REWRITTEN, low, high)
    key, until = LogKey(low, START_OF_TRANSACTION), Position(high - 1)
    return [unreadable_event(i, key, until, REWRITTEN) for i in named]


def has_reloads(run: RunContext, inspection: Inspection) -> bool:
    """Would a capture find a table that a refresh has to load?"""
    return bool(inspection.version and rewritten(last_record(run).rows, inspection.tables, inspection.locked))


def busy(inspection: Inspection, events: Iterable[Event]) -> set[int]:
    """Return the tables that the inspection has not seen as the last statement about them has left them."""
    unseen = (e for e in events if e.kind is EventKind.DDL and not inspection.snapshot.sees(e.key.lsn, e.xid))
    return set(inspection.locked).union(*({t.id for t in e.tables} | {i for i, _ in e.dropped} for e in unseen))


def record_events(run: RunContext, events: Iterable[Event]) -> None:
    """Store what the statements of a window say of the source."""
    known = last_record(run)
    rows, _ = follow_rows(known.rows, events)
    _store(run, known, replace(known, rows=rows))


def record_inspection(run: RunContext, inspection: Inspection, events: Iterable[Event]) -> None:
    """Store what the inspection at the end of a capture has found. events: of the capture's windows."""
    known, away = last_record(run), busy(inspection, events)
    if not inspection.version:
        return
    found = {t.id: v for t in inspection.tables if t.id not in away and (v := RowsVersion.of(t))}
    rows = {i: v for i, v in known.rows.items() if i in away} | found
    _store(run, known, replace(known, rows=rows))


def record_activation(run: RunContext, tables: Iterable[Table], *, begins: bool) -> None:
    """Store what an activation has found. begins: every table is loaded; else a capture looks at those known before."""
    known = last_record(run)
    found = {t.id: v for t in tables if (v := RowsVersion.of(t))}
    _store(run, known, replace(known, rows=found if begins else {**found, **known.rows}))


def _store(run: RunContext, known: SourceRecord, now: SourceRecord) -> None:
    if now != known:
        run.repository.set_source_record(run.channel.name, run.token, now.to_json())
