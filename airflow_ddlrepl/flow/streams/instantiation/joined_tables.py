"""Tables join a channel between activations; a target has their rows before an apply process applies their changes.

A table has joined when rules take its rows and the target does not know it: it is new, a rule for it is new, or it was
not published until now. One that DDL in the queue creates comes whole by it. Each other one is loaded, as activation
loads it. What can't be loaded without taking rows of the target's own away is told by each run, and by the status.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from airflow_ddlrepl.engines import source_engine
from airflow_ddlrepl.engines.abilities.lcr_target import LcrSession, LcrTransaction
from airflow_ddlrepl.errors import BlockedByOthers, DdlReplError
from airflow_ddlrepl.flow.run.context import log
from airflow_ddlrepl.flow.run.source_records import last_record
from airflow_ddlrepl.flow.streams.apply_process.allowed_code import AllowedCode
from airflow_ddlrepl.flow.streams.apply_process.apply import ApplyProcess
from airflow_ddlrepl.flow.streams.apply_process.suspended_tables import LEFT_OUT, SOURCE_TABLES, name_at
from airflow_ddlrepl.flow.streams.clients import CAPTURE, StreamsClients
from airflow_ddlrepl.flow.streams.feed import Feed
from airflow_ddlrepl.flow.streams.instantiation.changed_rules import RuleDigests
from airflow_ddlrepl.flow.streams.instantiation.instantiate import Instantiated, Instantiation
from airflow_ddlrepl.flow.streams.instantiation.instantiation_plan import (
    Group,
    Known,
    Way,
    groups_of,
    insert_routes,
    way_of,
)
from airflow_ddlrepl.flow.streams.instantiation.lacking_tables import (
    COMPUTED,
    FILLED,
    INCOMPLETE,
    INSPECTED,
    REPLACED,
    TRUNCATED,
    UNCAPTURED,
    UNDECIDED,
    lacking,
    stored_places,
)
from airflow_ddlrepl.flow.streams.instantiation.unsaid_changes import computed_tables, inspected_tables
from airflow_ddlrepl.model.change import IS_DUE, IS_UNNAMED, Event, EventKind, why_ignored
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.revision import Origin, Revision
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.streams.queue.ddl_lcrs import ddl_lcrs
from airflow_ddlrepl.streams.queue.insert_route import table_of
from airflow_ddlrepl.streams.rules.apply_settings import Instantiation as Applied
from airflow_ddlrepl.streams.rules.decide import decide


def bring_joined_tables(process: ApplyProcess) -> Instantiated:
    """Load the tables that have joined since the last activation; return what was loaded, and what lacks rows.

    What can't be loaded now is noted in `not_loaded`. Raises what else `instantiate` raises: nothing of the client's
    queue may be applied then.
    """
    return _Joining(process).run()


_Places = Mapping[str, Mapping[TableName, Position]]
"""By cause, and by table of the source: from before where the target may lack something."""


def lacks_changes(process: ApplyProcess) -> bool:
    """Return whether a target lacks changes that triggers have missed: each run has to tell."""
    found = _uncaptured(process, Instantiation(process).known())
    return any(found.values()) or any(one.is_failure for one in lacking(process))


def _uncaptured(process: ApplyProcess, known: Known) -> _Places:
    """Return which tables lack changes that triggers have missed, of captures whose messages the target gets."""
    found: dict[str, dict[TableName, Position]] = {UNCAPTURED: {}, TRUNCATED: {}}
    stored = {kind: stored_places(process, kind) for kind in found}
    feeds = [feed.name for feed in process.clients.feeds(process.client.queue)]
    for client, captured in last_record(process.clients.run).captured.items():
        is_fed = any(f".{feed}".endswith(f".{client}") for feed in feeds)
        for name, one in captured.missed.items() if is_fed else ():
            kind, at = TRUNCATED if one.is_truncation else UNCAPTURED, Position(one.until).previous
            if name in known.tables and at > stored[kind].get(name, -1):
                found[kind][name] = at
    return found


def _incomplete(tables: Iterable[Table], events: Iterable[Event]) -> Mapping[TableName, Position]:
    """Return the tables whose changes the log lacks, or has too many of, with up to where."""
    layouts = [one.layout for one in events if one.kind is EventKind.RELATION and one.layout is not None]
    wrong = {int(one["table_id"]): Position(one["until"]) for one in layouts if one.keys() & {IS_DUE, IS_UNNAMED}}
    return {table.name: wrong[table.id] for table in tables if table.id in wrong}


def _undecided(clients: StreamsClients, tables: Iterable[Table]) -> Mapping[TableName, Position]:
    """Return the tables about whose rows a rule can't decide any more, with the end of what is captured."""
    outgrown = {one.table for one in clients.environment.outgrown}
    wrong = [table.name for table in tables if f"{table.name.schema}.{table.name.name}" in outgrown]
    if not wrong:
        return {}
    end = clients.run.captured() if clients.section.captures else clients.run.source.stable_end()
    return dict.fromkeys(wrong, end.previous)


def _loaded_before(
    process: ApplyProcess, ways: Iterable[Way], revisions: Mapping[int, Sequence[Revision]]
) -> Mapping[TableName, int]:
    """Return where tables were loaded under the names that they had before: what they lack, they still lack."""
    loaded, found = stored_places(process, SOURCE_TABLES), {}
    for way in ways:
        names = {one.table.name for one in revisions[way.table.id] if one.table is not None} - {way.table.name}
        if places := [loaded[name] for name in names if name in loaded]:
            found[way.table.name] = max(places)
    return found


class _Joining:
    """A joining brings the tables that have joined to one target."""

    def __init__(self, process: ApplyProcess) -> None:
        self._process = process
        self._clients = process.clients
        self._client = process.client
        self._work = Instantiation(process)

    def run(self) -> Instantiated:
        changed: Collection[TableName] = ()
        if self._work.tables:
            known = self._work.known()
            self._note({**self._lacking(known), **_uncaptured(self._process, known)})
            ways = list(self._ways(known))
            if ways:
                self._bring(known, ways)
            self._note(self._changed())
            changed = self._with_other_rules(has_joined=bool(ways))
        lacks = [one for one in lacking(self._process) if one.is_late or one.name in changed]
        late = tuple(str(one) for one in lacks if not one.is_failure)
        result = self._work.result(0.0)
        existing = tuple(f"{table}: {what}" for table, what in result.existing.items())
        failed = tuple(str(one) for one in lacks if one.is_failure)
        return replace(result, warnings=(*result.warnings, *existing, *late), uncaptured=failed)

    def _with_other_rules(self, *, has_joined: bool) -> Collection[TableName]:
        """Return the tables of the target whose rules have changed since the last cycle."""
        digests = RuleDigests(self._process)
        if digests.is_current and not has_joined:
            return ()
        known = self._work.known().tables
        tables = [table for table in self._work.tables if table.name in known]
        return digests.changed(tables, list(insert_routes(self._clients, self._client)), self._begins)

    def _ways(self, known: Known) -> Iterator[Way]:
        """Yield the ways of tables that the target does not know."""
        joined = [table for table in self._work.tables if table.name not in known.tables]
        routes = list(insert_routes(self._clients, self._client)) if joined else []
        for table in joined:
            for route in routes:
                way = way_of(table, route)
                if way.outcomes:
                    yield way

    def _bring(self, known: Known, ways: Sequence[Way]) -> None:
        """Load the tables of ways, but for those that come whole."""
        there = self._process.there.existing({table_of(one.batch) for way in ways for one in way.outcomes})
        left = {way.table.id: way.table for way in ways if not self._comes_whole(way, known, there)}
        whole = [way for way in ways if way.table.id not in left]
        with self._process.writing() as session:
            if whole:
                session.run(lambda transaction: self._mark(transaction, whole, known))
            groups = groups_of(self._clients, self._client, self._work.known(), left.values()) if left else []
            if groups:
                log.info("tables join target %s: %s", self._process.name, ", ".join(str(t.name) for t in left.values()))
                self._process.not_loaded |= self._loaded(session, groups)

    def _loaded(self, session: LcrSession, groups: Sequence[Group]) -> Mapping[int, DdlReplError]:
        """Load groups of tables; return why some are not loaded: their changes wait, and all others go on."""
        try:
            return self._work.run(session, groups)
        except BlockedByOthers as error:
            return {way.table.id: error for group in groups for way in group.ways}

    def _comes_whole(self, way: Way, known: Known, there: set[TableName]) -> bool:
        """Return whether the log has all rows of a table: it was created, or renamed, in what is not applied yet."""
        arrival = self._arrivals.get(way.table.id)
        if arrival is None or arrival.origin is not Origin.IN_LOG or way.table.id in self._filled:
            return False
        former = {revision.table.name for revision in self._revisions[way.table.id] if revision.table is not None}
        is_new = arrival == self._revisions[way.table.id][0]
        if not is_new and not former & known.tables:
            return False
        if arrival.key.lsn in self._delivered.get(way.table.id, ()):
            return True
        return arrival.key.lsn >= self._begins and all(table_of(one.batch) in there for one in way.outcomes)

    def _mark(self, transaction: LcrTransaction, whole: Sequence[Way], known: Known) -> None:
        """Write that the queue has all of some tables: nothing of what is not applied yet is passed over."""
        database, scn = self._clients.database, max(0, self._begins - 1)
        places = _loaded_before(self._process, whole, self._revisions)
        tables = [Applied(database, *name, places.get(name, scn)) for name in sorted({way.table.name for way in whole})]
        transaction.instantiate(SOURCE_TABLES + self._client.name, tables)
        queued = {name for way in whole for name in way.queued} - known.queued
        transaction.instantiate(self._client.name, [Applied(database, *name, scn) for name in sorted(queued)])

    def _lacking(self, known: Known) -> _Places:
        """Return which tables, that the target has got, have other rows in the source than the log says of them."""
        tables = [table for table in self._work.tables if table.name in known.tables]
        filled = {table.name: at for table in tables if (at := self._filled.get(table.id)) is not None}
        replaced = {table.name: at for table in tables if (at := self._replaced(table)) is not None}
        places = {FILLED: filled, REPLACED: replaced, INCOMPLETE: _incomplete(tables, self._pending)}
        places[UNDECIDED] = _undecided(self._clients, tables)
        return {**places, LEFT_OUT: left_out_tables(self._process, self._pending, self._revisions)}

    def _changed(self) -> _Places:
        """Return which tables, also new ones, change at the source by more than the texts that are to be applied."""
        said, unsaid = ([one for one in self._taken if one.is_inspected is flag] for flag in (False, True))
        computed = computed_tables(said, source_engine(self._clients.run.channel).types)
        inspected = inspected_tables(unsaid, self._revisions) if unsaid else {}
        return {
            kind: {table.name: of[table.id] for table in self._work.tables if table.id in of}
            for kind, of in ((COMPUTED, computed), (INSPECTED, inspected))
        }

    def _note(self, found: _Places) -> None:
        """Write since where the target lacks something of tables."""
        if any(found.values()):
            with self._process.writing() as session:
                session.run(lambda transaction: self._write(transaction, found))

    def _write(self, transaction: LcrTransaction, found: _Places) -> None:
        for kind, tables in found.items():
            marks = [Applied(self._clients.database, *name, at) for name, at in tables.items()]
            transaction.instantiate(kind + self._client.name, marks)

    def _replaced(self, table: Table) -> Position | None:
        """Return where a table has taken the name of another one, if no DDL that the client takes says so."""
        if not self._events:
            return None
        arrival = self._arrivals.get(table.id)
        if arrival is None or table.name not in self._given_up or arrival.key.lsn < self._begins:
            return None
        return None if arrival.key.lsn in self._delivered.get(table.id, ()) else Position(arrival.key.lsn)

    @cached_property
    def _revisions(self) -> Mapping[int, Sequence[Revision]]:
        run = self._clients.run
        return run.repository.histories(run.channel.name)

    @cached_property
    def _arrivals(self) -> Mapping[int, Revision]:
        """Return the revision since which each table has its name."""
        found = {}
        for number, revisions in self._revisions.items():
            arrival, name = None, None
            for one in reversed(revisions):
                if one.table is None or name not in (None, one.table.name):
                    break
                arrival, name = one, one.table.name
            if arrival is not None:
                found[number] = arrival
        return found

    @cached_property
    def _given_up(self) -> Collection[TableName]:
        """Return the names that tables had until they were dropped or renamed."""
        pairs = (pair for revisions in self._revisions.values() for pair in itertools.pairwise(revisions))
        names = ((a.table.name if a.table else None, b.table.name if b.table else None) for a, b in pairs)
        return {former for former, later in names if former is not None and former != later}

    @cached_property
    def _captured_feeds(self) -> Sequence[tuple[Feed, Position | None]]:
        """Return the feeds of the source's log, each with the position up to which it is applied."""
        return [(feed, at) for feed, at in self._process.positions() if feed.name.endswith(CAPTURE)]

    @property
    def _begins(self) -> Position:
        """Return where the log begins that is not applied yet."""
        return min((at or Position(0) for _, at in self._captured_feeds), default=Position(0))

    @cached_property
    def _pending(self) -> Sequence[Event]:
        """Return the control records of the queue that are not applied yet."""
        return [
            event for feed, at in self._captured_feeds for one in feed.segments(at) for event in feed.trail.events(one)
        ]

    @cached_property
    def _events(self) -> Sequence[Event]:
        """Return the DDL of the queue that is not applied yet."""
        return [event for event in self._pending if event.kind is EventKind.DDL]

    @cached_property
    def _filled(self) -> Mapping[int, Position]:
        """Return the places where tables have come into the log with rows that it lacks, by table."""
        found: dict[int, Position] = {}
        for event in self._events:
            for number in event.filled:
                found[number] = max(Position(event.key.lsn), found.get(number, Position(0)))
        return found

    @cached_property
    def _taken(self) -> Sequence[Event]:
        """Return those that the client takes: statements, and changes without one that inspections have found."""
        return [event for event in self._events if not why_ignored(event) and self._is_taken(event)]

    @cached_property
    def _delivered(self) -> Mapping[int, set[int]]:
        """Return the places of statements that the target runs, by table."""
        found: dict[int, set[int]] = {}
        for event in (one for one in self._taken if _is_run(self._process, one)):
            for table in event.tables:
                found.setdefault(table.id, set()).add(event.key.lsn)
        return found

    def _is_taken(self, event: Event) -> bool:
        lcrs = ddl_lcrs(event, self._clients.database)
        return bool(lcrs) and all(decide(self._client, lcr).is_taken for lcr in lcrs)


def _is_run(process: ApplyProcess, event: Event) -> bool:
    """Return whether a target runs a statement that its rules take: its text is known, and is not left out there.

    CREATE TABLE AS is left out, for one: what it creates has to be loaded, even if the table has no row yet.
    """
    if event.is_inspected:
        return False
    if process.clients.environment.apply_settings(process.client.name).ddl_handler:
        return True
    code, lcrs = AllowedCode.of(process.target), ddl_lcrs(event, process.clients.database)
    return all(lcr.text and code.allowed(lcr)[0] is not None for lcr in lcrs)


def left_out_tables(
    process: ApplyProcess, events: Iterable[Event], revisions: Mapping[int, Sequence[Revision]]
) -> dict[TableName, Position]:
    """Return the tables that such transactions may have written to, with the last place, as they were called there.

    Those alone that the process takes rows of.
    """
    places: dict[int, Position] = {}
    for event in events:
        if event.is_left_out and event.layout is not None:
            table_id, at = int(event.layout["table_id"]), Position(event.key.lsn)
            places[table_id] = max(at, places.get(table_id, at))
    routes = list(insert_routes(process.clients, process.client)) if places else []
    found = {}
    for table in process.clients.tables if places else ():
        if table.id in places and any(way_of(table, route).outcomes for route in routes):
            name = name_at(revisions[table.id], places[table.id])
            if name is not None:
                found[name] = places[table.id]
    return found
