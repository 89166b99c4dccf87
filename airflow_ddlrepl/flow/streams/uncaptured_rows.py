"""Row changes that triggers did not capture: somebody has switched them off, dropped or changed them, even for a while.

The run that finds it tells between which positions, and fails by the table's name; so does each later one until a
person has run `ddlrepl activate`. Targets of apply processes know of it until they have loaded the table again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from airflow_ddlrepl.capture.captured_table import Captured, Uncaptured
from airflow_ddlrepl.capture.trigger_changes import uncaptured
from airflow_ddlrepl.engines.abilities.sync_capture import CapturesBySync, Prepared, SyncCapture
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.source_records import last_record, store_record
from airflow_ddlrepl.flow.streams.clients import StreamsClients
from airflow_ddlrepl.model.installation import Problem
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.streams.rules.client import ClientKind

MEANWHILE = "its triggers were switched off or dropped"
TRUNCATED = "a TRUNCATE of it, or of a partition, was not captured"
HINT = (
    "make the rows equal where they went: for an apply process drop the target's table, which `ddlrepl activate` then"
    " loads again. `ddlrepl activate` also takes note of it, and later runs of the synchronous capture fail no more"
)


def bring_up(run: RunContext, client: str, capture: SyncCapture, last: int) -> Prepared:
    """Bring the triggers of a synchronous capture up to its rules, and store of which tables row changes are missing.

    last: the newest window in the client's feed. What is missing is stored before any trigger is made again.
    """
    known = captured(run, client)
    lost = uncaptured(known.tables, capture.tables(known.tables.values()))
    _store(run, client, _with(run, known, lost))
    prepared = capture.prepare(last)
    reach("sync_capture.triggers")
    lost |= {name: MEANWHILE for name in prepared.remade if name in known.tables and name not in lost}
    failed = {error.table for error in prepared.failed}
    now = {name: one for name, one in capture.tables(()).items() if str(name) not in failed}
    kept = {name: one for name, one in known.tables.items() if str(name) in prepared.tables}
    tables = {**kept, **now}
    if tables != known.tables or lost:
        found = _with(run, captured(run, client), lost)
        _store(run, client, replace(found, at=run.source.stable_end(), tables=tables))
    return prepared


def note_truncated(run: RunContext, client: str, tables: Iterable[str]) -> None:
    """Store that a TRUNCATE of tables was not captured. tables: `schema.name`."""
    known, names = captured(run, client), set(tables)
    found = {name: TRUNCATED for name in known.tables if str(name) in names}
    _store(run, client, _with(run, known, found, is_truncation=True))


def require_captured(run: RunContext, client: str) -> None:
    """Raise SourceError SRC-193 while row changes of tables are missing, and nobody has taken note of it."""
    found = _unnoted(captured(run, client))
    if found:
        raise SourceError(
            "row changes may not have been captured: " + "; ".join(f"{name} {one}" for name, one in found.items()),
            code="SRC-193",
            table=next(iter(found)),
            hint=HINT,
        )


def take_note(run: RunContext) -> None:
    """Let later runs go on without an error for what is missing: a person activates the channel and is told of it."""
    for client, known in last_record(run).captured.items():
        for name, one in _unnoted(known).items():
            log.warning("row changes of %s may not have been captured %s. To do: %s", name, one, HINT)
        missed = {name: replace(one, is_noted=True) for name, one in known.missed.items()}
        _store(run, client, replace(known, missed=missed))


def forget(run: RunContext, client: str) -> None:
    """Forget the triggers of a synchronous capture that is removed: rows that it misses from now on are no gap."""
    record = last_record(run)
    left = {name: one for name, one in record.captured.items() if name != client}
    store_record(run, record, replace(record, captured=left))


def captured(run: RunContext, client: str) -> Captured:
    """Return what the last look at a synchronous capture's triggers has left."""
    return last_record(run).captured.get(client, Captured())


def trigger_problems(run: RunContext) -> list[Problem]:
    """Return which tables lack row changes, as the last run has stored it, or as the triggers show now."""
    found = dict(_lost_now(run))
    return [Problem(f"row changes of {name} may not be captured {why}", f"-- {HINT}") for name, why in found.items()]


def _lost_now(run: RunContext) -> Iterator[tuple[TableName, str]]:
    clients = StreamsClients(run)
    for client in clients.of_kind(ClientKind.SYNC_CAPTURE):
        known = captured(run, client.name)
        now = (
            able(run.source, CapturesBySync)
            .sync_captures.of(clients.capture_rules_of(client))
            .tables(known.tables.values())
        )
        lost = {name: f"since {known.at}: {why}" for name, why in uncaptured(known.tables, now).items()}
        yield from {**lost, **{name: str(one) for name, one in _unnoted(known).items()}}.items()


def _unnoted(known: Captured) -> dict[TableName, Uncaptured]:
    return {name: one for name, one in known.missed.items() if not (one.is_noted or one.is_truncation)}


def _with(run: RunContext, known: Captured, lost: Mapping[TableName, str], *, is_truncation: bool = False) -> Captured:
    """Return what is known with row changes that are missing up to now. What nobody has taken note of yet stays."""
    if not lost:
        return known
    until, missed = run.source.stable_end(), dict(known.missed)
    for name, why in lost.items():
        before = _unnoted(known).get(name)
        if before is None:
            missed[name] = Uncaptured(known.at, until, why, is_truncation=is_truncation)
        elif not is_truncation:
            reasons = "; ".join(dict.fromkeys([*before.why.split("; "), *why.split("; ")]))
            missed[name] = replace(before, until=until, why=reasons)
    return replace(known, missed=missed)


def _store(run: RunContext, client: str, now: Captured) -> None:
    record = last_record(run)
    if now != record.captured.get(client):
        store_record(run, record, replace(record, captured={**record.captured, client: now}))
