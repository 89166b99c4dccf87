"""A synchronous capture brings what triggers at the source have captured into its feed, window by window.

First the rows of a window are in files, then the manifest, then they are deleted at the source. A window that a killed
run has left comes again with the same number and the same rows: each of them is in one segment, whatever is killed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import pyarrow.compute as pc

from airflow_ddlrepl.engines.abilities.sync_capture import (
    NUMBER_BITS,
    CapturedWindow,
    CapturesBySync,
    FeedPlace,
    Prepared,
    SyncCapture,
)
from airflow_ddlrepl.engines.ability import able, find
from airflow_ddlrepl.errors import SourceError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.isolation import FailureIsolation
from airflow_ddlrepl.flow.run.results import Printable
from airflow_ddlrepl.flow.run.stage import stage
from airflow_ddlrepl.flow.stages import SYNC_CAPTURE
from airflow_ddlrepl.flow.streams.clients import StreamsClients
from airflow_ddlrepl.flow.streams.feed import Feed, OwnFeed
from airflow_ddlrepl.flow.streams.known_tables import note_tables
from airflow_ddlrepl.flow.streams.uncaptured_rows import bring_up, forget, note_truncated, require_captured
from airflow_ddlrepl.model.stored_names import TRANSACTION_ID
from airflow_ddlrepl.streams.messages import MessageClass
from airflow_ddlrepl.streams.rules.client import Client, ClientKind
from airflow_ddlrepl.trail.manifest import Segment
from airflow_ddlrepl.trail.store import Trail


@dataclass(frozen=True)
class SyncCaptured(Printable):
    """This is what synchronous captures brought: row changes by client, with their transactions and segments.

    changes: what was done at the source to bring triggers up to the rules. missing: tables of the rules that are not
    there. truncated: tables that were emptied by a TRUNCATE, which a synchronous capture does not capture.
    """

    rows: dict[str, int] = field(default_factory=dict)
    transactions: int = 0
    segments: int = 0
    changes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    truncated: tuple[str, ...] = ()
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()

    def and_then(self, more: SyncCaptured) -> SyncCaptured:
        """Return the sum of this result and that of another client."""
        counts = (self.transactions + more.transactions, self.segments + more.segments)
        lists = (self.changes + more.changes, self.missing + more.missing, self.truncated + more.truncated)
        rest = (round(self.seconds + more.seconds, 2), self.warnings + more.warnings)
        return SyncCaptured({**self.rows, **more.rows}, *counts, *lists, *rest)


@stage(SYNC_CAPTURE)
def sync_capture(run: RunContext) -> SyncCaptured:
    """Bring everything into the queues that triggers have captured in transactions which have ended.

    The triggers are brought up to the rules first; those of clients that the channel file no longer has are removed.
    A client that fails keeps no other one from its work. Raises RuleError for rules that triggers can't have,
    SourceError SRC-192 when the source was set back behind a feed, SRC-193 for tables whose row changes were not
    captured, once all else is in the queues; all name the client.
    """
    clients, found = StreamsClients(run), SyncCaptured()
    captures, isolation = clients.of_kind(ClientKind.SYNC_CAPTURE), FailureIsolation()
    for name in sorted({*prepared_clients(run)} - {client.name for client in captures}):
        with isolation.one(client=f"{ClientKind.SYNC_CAPTURE.words} {name}"):
            found = found.and_then(SyncCaptured(changes=remove_sync_capture(run, name)))
    for client in captures:
        with isolation.one(client=client.words):
            found = found.and_then(sync_capture_client(clients, client, isolation))
    is_active = run.repository.captured(run.channel.name) is not None
    if found.changes and is_active and not clients.section.captures:
        note_tables(run)  # one that has triggers only now joins: apply processes need the rows that it had
    isolation.end()
    return found


def sync_capture_client(clients: StreamsClients, client: Client, isolation: FailureIsolation) -> SyncCaptured:
    """Bring into its queue what one client has captured, as `sync_capture` does. isolation: gets errors of tables."""
    started = time.monotonic()
    run, feed = clients.run, feed_of(clients, client)
    feed.finish(run.token)
    capture = able(run.source, CapturesBySync).sync_captures.of(clients.capture_rules_of(client))
    prepared = bring_up(run, client.name, capture, last_window(feed))
    _warn(client, prepared)
    rows = transactions = segments = 0
    truncated: dict[str, None] = {}
    while (window := capture.open_window()) is not None:
        reach("sync_capture.window")
        _publish(run, capture, window, feed)
        reach("sync_capture.manifest")
        note_truncated(run, client.name, window.truncated)
        capture.close_window(window)
        rows, transactions, segments = rows + window.changes, transactions + window.transactions, segments + 1
        truncated |= dict.fromkeys(window.truncated)
        if window.is_new:
            break  # what has ended since comes with the next run
    for table in truncated:
        log.warning("a TRUNCATE of %s was not captured: a synchronous capture captures row changes alone", table)
    for error in prepared.failed:
        with isolation.one(client=client.words):
            raise error
    with isolation.one(client=client.words):
        require_captured(run, client.name)
    told = (prepared.changes, prepared.missing, tuple(truncated))
    seconds = round(time.monotonic() - started, 2)
    return SyncCaptured({client.name: rows}, transactions, segments, *told, seconds, prepared.warnings)


def prepare_client(clients: StreamsClients, client: Client) -> Prepared:
    """Bring the triggers of one client up to its rules, so that they capture from now on."""
    capture = able(clients.run.source, CapturesBySync).sync_captures.of(clients.capture_rules_of(client))
    prepared = bring_up(clients.run, client.name, capture, last_window(feed_of(clients, client)))
    if prepared.failed:
        raise prepared.failed[0]
    return prepared


def has_sync_captures(run: RunContext) -> bool:
    """Return whether a run has to look for what triggers have captured, or for triggers that are to be removed.

    Raises ConfigError CFG-130 when the channel is not active: what triggers capture would wait at the source for ever.
    """
    run.captured()
    return bool(StreamsClients(run).of_kind(ClientKind.SYNC_CAPTURE) or prepared_clients(run))


def prepared_clients(run: RunContext) -> list[str]:
    """Return the names of the clients that are prepared at the source, whatever the channel file has by now."""
    source = find(run.source, CapturesBySync)
    return source.sync_captures.clients() if source is not None else []


def remove_sync_capture(run: RunContext, name: str) -> tuple[str, ...]:
    """Remove a client's triggers at the source, with what no run has read; return what was removed, in words."""
    changes = able(run.source, CapturesBySync).sync_captures.remove(name)
    forget(run, name)
    for change in changes:
        log.warning("synchronous capture %s is removed: %s", name, change)
    return tuple(changes)


def last_window(feed: Feed) -> int:
    """Return the number of the newest window in a feed; 0 where there is none."""
    return max((low >> NUMBER_BITS for low in feed.starts()), default=0)


def feed_of(clients: StreamsClients, client: Client) -> OwnFeed:
    """Return the feed that a synchronous capture writes."""
    return clients.own_feed(client.name, client.queue, 0, MessageClass.PERSISTENT)


def _publish(run: RunContext, capture: SyncCapture, window: CapturedWindow, feed: OwnFeed) -> None:
    """Make a window a segment of the feed, unless an earlier run has."""
    trail = feed.trail
    if trail.find(feed.epoch, window.low) is not None:
        found = trail.segment(feed.epoch, window.low)
    else:
        with trail.discarded_on_failure(feed.epoch, window.low, run.token):
            part = capture.write(window, FeedPlace(trail.url, trail.channel, feed.epoch, run.token))
            reach("sync_capture.files")
            made = Segment(trail.channel, feed.epoch, run.token, window.low, window.high, (part,))
            found = feed.publish(made, run.token, run.check_lock)
    _require_same(trail, found, window)
    trail.tidy(found)


def _require_same(trail: Trail, segment: Segment, window: CapturedWindow) -> None:
    """Raise SourceError SRC-192 unless a segment has the transactions of the window that it is of."""
    transactions = trail.transactions(segment)
    transaction_ids = pc.min_max(transactions[TRANSACTION_ID]).as_py()
    published = (transactions.num_rows, segment.rows, transaction_ids["min"], transaction_ids["max"])
    if published != (window.transactions, window.changes, window.first_transaction, window.last_transaction):
        raise SourceError(
            f"the feed has other transactions at {window.low} than the source has captured: the source was set back to"
            " an earlier moment",
            code="SRC-192",
            at=window.low,
            hint="load the targets again from this source: `ddlrepl activate --new-trail`",
        )


def _warn(client: Client, prepared: Prepared) -> None:
    for change in prepared.changes:
        log.info("synchronous capture %s: %s", client.name, change)
    for warning in prepared.warnings:
        log.warning("synchronous capture %s: %s", client.name, warning)
    for table in prepared.missing:
        log.warning(
            "synchronous capture %s: %s is not there; its rows are captured from the next run on after it is created",
            client.name,
            table,
        )
