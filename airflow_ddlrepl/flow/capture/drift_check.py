"""A table's shape may change without an event of the window that explains it; it is then taken from the catalog.

A capture looks at the catalog before it reads the log, or beside it, where there is much log to read. The log that is
read has to explain what the look has found, so the look comes before the end of the log. Where it is taken beside the
reading, the catalog's version is taken before that end, and again with the shapes: as long as it is the same, the
shapes are those of the earlier moment.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from types import TracebackType
from typing import Any, Self

from airflow_ddlrepl.capture.drift import Inspection, ambiguous_shapes, unexplained
from airflow_ddlrepl.capture.enroll import Past, belongs, enroll, enroll_with_silent, shapes_in
from airflow_ddlrepl.capture.row_layouts import unexplained_layouts
from airflow_ddlrepl.engines.source_catalog import Catalog, SourceCatalog
from airflow_ddlrepl.errors import Unreachable
from airflow_ddlrepl.flow.capture.file_changes import FileChange
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.model.change import Event
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.trail.manifest import Segment
from airflow_ddlrepl.trail.segments import commits

INSPECTED = "inspected"
BESIDE_BYTES = 4 << 20
"""With so many bytes of log to read, the shapes are read beside it; with less, a session more would take longer."""


def inspect_source(run: RunContext, change: FileChange) -> Inspection:
    """Return every table of the channel, and those that could join it, as the catalog shows them now.

    change: of the channel file since the source was brought up to it.
    A catalog that is as it was when all of it was explained is not read: it shows what is known.
    """
    bystanders = run.source.membership.bystanders()
    catalog = run.source.catalog.inspect_catalog(explained_version(run, bystanders))
    return inspection_of(run, change, catalog, bystanders)


def explained_version(run: RunContext, bystanders: Iterable[int]) -> str:
    """Return the version of the catalog all of which is explained; empty where something is another one since."""
    row = run.repository.channel(run.channel.name)
    basis, _, version = (row.explained if row else "").partition(" ")
    return version if basis == _basis(run, bystanders) else ""


def inspection_of(run: RunContext, change: FileChange, catalog: Catalog, bystanders: Collection[int]) -> Inspection:
    """Return what a catalog shows of the channel. bystanders: ids of tables that are none of the channel's."""
    known, catalog = run.repository.latest_revisions(run.channel.name), run.source.catalog.known(catalog)
    if catalog.tables is None:
        return Inspection(tuple(r.table for r in known.values() if r.table), catalog.seen)
    others = set(bystanders) - known.keys()
    members = run.source.membership.members() if change.keys else set()
    tables = [t for t in catalog.tables if t.id not in others and (t.id in known or change.admits(t, members))]
    ours = [t for t in tables if belongs(t, known, run.joins)]
    return Inspection(tuple(ours), catalog.seen, catalog.locked, version=catalog.version)


def _basis(run: RunContext, bystanders: Iterable[int]) -> str:
    """Return a hash of the channel's file and of what is known of its tables: a catalog is explained for these only."""
    known = [(i, r.number) for i, r in run.repository.latest_revisions(run.channel.name).items()]
    basis = (run.channel.fingerprint(), run.epoch, sorted(bystanders), known)
    return hashlib.sha256(repr(basis).encode()).hexdigest()[:32]


def explain(run: RunContext, inspection: Inspection) -> None:
    """Record that the log explains all that this inspection found: a catalog of this version is not read again."""
    if inspection.version and not inspection.locked and not inspection.late:
        explained = f"{_basis(run, run.source.membership.bystanders())} {inspection.version}"
        run.repository.set_explained_catalog(run.channel.name, run.token, explained)


def enrolled(run: RunContext, events: Sequence[Event], known: Mapping[int, Revision]) -> list[Revision]:
    """Return the revisions that these events add to those that the repository has."""
    return enroll(events, known, run.joins, _past(run, events))


def _past(run: RunContext, events: Iterable[Event]) -> Past:
    """Return the function that reads all revisions of a table; those of all tables of these events are read at once."""
    known: dict[int, list[Revision]] = {}

    def past(table_id: int) -> Sequence[Revision]:
        if not known:
            ids = {table.id for event in events for table in event.tables}
            known.update(run.repository.revisions_of(run.channel.name, {table_id, *ids}))
        elif table_id not in known:  # an event's type is one of its columns', too
            known[table_id] = run.repository.revisions(run.channel.name, table_id)
        return known[table_id]

    return past


def find_drift(
    run: RunContext, segment: Segment, events: Sequence[Event], inspection: Inspection, *, is_last: bool
) -> list[Event]:
    """Return events for what changed shapes without a DDL record: as the segment's rows, or now the catalog, show them.

    is_last: the segment ends where the inspection was made, so that the catalog can be compared with it.
    """
    known = run.repository.latest_revisions(run.channel.name)
    found, silent = enroll_with_silent(events, known, run.joins, _past(run, events), run.types)
    history: dict[int, list[Revision]] = {i: [r] for i, r in known.items()}
    for revision in found:
        history.setdefault(revision.table_id, []).append(revision)

    files = [file for file in segment.files() if file.table_id in history and not file.is_transformed]
    transaction_ids = _TransactionIds(run, segment)
    drift = unexplained_layouts(files, shapes_in(history), {t.id: t for t in inspection.tables}, transaction_ids.at)
    changes = [(before, now) for before, change in silent for now in change.tables]
    if is_last:
        latest = {i: revisions[-1] for i, revisions in history.items()}
        explained = {i: r.table for i, r in latest.items() if r.table}
        for revision in enrolled(run, drift, latest):
            latest[revision.table_id] = revision
        drift += unexplained(inspection, latest, events, segment.high, run.joins, run.types)
        changes += [(explained[t.id], t) for event in drift for t in event.tables if t.id in explained]
    since = min(run.repository.position(run.channel.name, INSPECTED) or segment.low, segment.low)
    has_rows = {file.table_id for file in files} if since == segment.low else set(history)
    drift = [change for _, change in silent] + drift
    return ambiguous_shapes(changes, has_rows, since, segment.low, segment.high, run.types) + drift


class _TransactionIds:
    """The transactions that commit in a segment, by position; they are read at the first use."""

    def __init__(self, run: RunContext, segment: Segment) -> None:
        self.run, self.segment = run, segment

    @cached_property
    def _known(self) -> dict[int, int]:
        return dict(commits(self.run.trail.transactions(self.segment)))

    def at(self, lsn: int) -> int:
        return self._known.get(lsn, 0)


class CatalogLook:
    """A look at the catalog is over when the first window of log is read. `with` ends what it does beside.

    end: where the log ends that has to explain what the look finds. change: of the channel file since the source was
    brought up to it. size: bytes of log that are there to read; None: not known.
    """

    def __init__(self, run: RunContext, change: FileChange, size: int | None) -> None:
        self.end = Position(0)
        self._run, self._change = run, change
        self._is_beside = size is not None and size >= BESIDE_BYTES
        self._bystanders = run.source.membership.bystanders()
        self._more: dict[str, Any] = {}
        self._beside: Future[Catalog] | None = None
        self._made: Inspection | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with self._stack:
            self._other = self._session() if self._is_beside else None
            catalog, expected = self._run.source.catalog, explained_version(self._run, self._bystanders)
            self._found = catalog.now() if self._other is not None else catalog.inspect_catalog(expected)
            if self._found.version == expected:
                self._other = None
            self._stack = self._stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> bool | None:
        return self._stack.__exit__(kind, error, at)

    def begin(self, end: Position, **more: Any) -> None:
        """Begin to read the shapes, if that is still to do. end: after the catalog's version. more: of the inspection.

        It comes after what else the capture does with the source before it reads the log.
        """
        self.end, self._more = end, more
        if self._other is not None:
            reader = self._stack.enter_context(ThreadPoolExecutor(1, "ddlrepl-catalog"))
            self._beside = reader.submit(self._other.inspect_catalog, "")

    def inspection(self) -> Inspection:
        """Return what the look has found; wait until it is over.

        Where the catalog has changed since, it found what is later: then the log is to be read further, up to `end`.
        """
        if self._beside is not None:
            found, self._beside = self._beside.result(), None
            if found.version == self._found.version:
                found = replace(found, seen=self._found.seen)
            else:
                log.info("the catalog has changed while the log was read: it is read further")
                self.end = max(self.end, self._run.source.stable_end())
            self._found = found
        if self._made is None or self._run.source.catalog.known(self._found) is not self._found:
            self._made = inspection_of(self._run, self._change, self._found, self._bystanders)
        return replace(self._made, **self._more)

    def forget_due(self) -> None:
        """Forget what was due: a window has it."""
        self._more |= {"due": {}, "gap": ""}

    def _session(self) -> SourceCatalog | None:
        """Return the catalog over another session; None where there is none to be had."""
        try:
            other = self._run.source.catalog.beside()
            return self._stack.enter_context(other) if other is not None else None
        except Unreachable as error:
            log.info("the catalog is read before the log, not beside it: %s", error.message)
            return None
