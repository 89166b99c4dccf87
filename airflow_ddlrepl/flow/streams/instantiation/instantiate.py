"""Before the first change of a table is applied, the table is at the target, with the rows that it had until then.

A table and its position, up to which its changes are in the rows, come in one transaction of the target. The rows go
the way of the changes: each counts as an INSERT, and each client on the way takes and transforms it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from airflow_ddlrepl.engines.abilities.lcr_target import LcrSession, LcrTransaction
from airflow_ddlrepl.engines.abilities.of_source import GivesRowsAtPosition
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.engines.source_catalog import SourceSnapshot
from airflow_ddlrepl.errors import ApplyError, DdlReplError, RuleError, UnreadableTable
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.results import Printable
from airflow_ddlrepl.flow.run.stage import stage
from airflow_ddlrepl.flow.stages import INSTANTIATE
from airflow_ddlrepl.flow.streams.apply_process.apply import ApplyProcess, apply_process
from airflow_ddlrepl.flow.streams.apply_process.suspended_tables import SOURCE_TABLES
from airflow_ddlrepl.flow.streams.clients import CAPTURE, StreamsClients
from airflow_ddlrepl.flow.streams.instantiation.instantiation_plan import (
    Group,
    Known,
    groups_of,
    insert_routes,
    without_dropped,
)
from airflow_ddlrepl.flow.streams.instantiation.subset_rows import OUTSIDE_MEANS, subsets_of
from airflow_ddlrepl.flow.streams.instantiation.table_filling import Filled, GroupFilling, Rows
from airflow_ddlrepl.flow.streams.sync_capture import prepare_client
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.visibility import Visibility
from airflow_ddlrepl.streams.queue.insert_route import InsertRoute
from airflow_ddlrepl.streams.rules.apply_settings import Instantiation as Applied
from airflow_ddlrepl.streams.rules.client import ClientKind

LACKING = "tables that lack rows: "
"""Behind it stands the client's name where rows of tables of the source, from before a position, were not loaded."""


@dataclass(frozen=True)
class Instantiated(Printable):
    """These are the tables that an apply process has got, and those that it has found.

    rows: loaded, by table of the target. positions: up to where tables have their changes already, by the name in the
    queue. existing: tables of the target that were there, and what that means. discarded: rows that a client on the way
    has not taken, by table and client. outside: rows of the target's tables that do not meet the conditions of the
    subset rules whose messages they receive. uncaptured: tables that lack changes which triggers did not capture.
    """

    target: str
    rows: dict[str, int] = field(default_factory=dict)
    positions: dict[str, Position] = field(default_factory=dict)
    existing: dict[str, str] = field(default_factory=dict)
    discarded: dict[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
    outside: dict[str, int] = field(default_factory=dict)
    uncaptured: tuple[str, ...] = ()


@stage(INSTANTIATE)
def instantiate(run: RunContext, target: str, tables: Collection[TableName] | None = None) -> Instantiated:
    """Bring the tables of the source that a target's apply process takes rows of to it; those that it has stay.

    tables: of the source; None: all that are captured. Raises ConfigError CFG-193 for an unknown target, RuleError
    (RUL-…) as the rules on the way do, SourceError SRC-110 where open transactions stay in the way, ApplyError APL-130
    to APL-137.
    """
    started = time.monotonic()
    clients = StreamsClients(run)
    with apply_process(clients, clients.target(target)) as process:
        work = Instantiation(process)
        wanted = [table for table in work.tables if tables is None or table.name in tables]
        routes = list(insert_routes(clients, process.client)) if wanted else []
        known = without_dropped(work.known(), routes, wanted, process.there.existing)
        groups = groups_of(clients, process.client, known, wanted)
        if groups:
            with process.writing() as session:
                for why in work.run(session, groups).values():
                    raise why
        work.count_outside(routes, wanted)
        return work.result(round(time.monotonic() - started, 2))


class Instantiation:
    """An instantiation loads groups of tables one after the other, under one snapshot of the source.

    tables: of the source, which the apply process may take rows of.
    """

    def __init__(self, process: ApplyProcess) -> None:
        self._process = process
        self._client = process.client.name
        self._run = process.clients.run
        self._database = process.clients.database
        self._rows: Counter[str] = Counter()
        self._positions: dict[str, Position] = {}
        self._existing: dict[str, str] = {}
        self._discarded: Counter[str] = Counter()
        self._outside: dict[str, int] = {}
        self._warnings: list[str] = []
        settings = process.clients.environment.apply_settings(self._client)
        is_source = settings.source_database in ("", self._database)
        self.tables = process.clients.tables if is_source else ()  # else its changes are another database's

    def known(self) -> Known:
        """Return which tables the target has got, or was found to have, before."""

        def names(client: str) -> frozenset[TableName]:
            found = self._process.there.instantiations(client)
            return frozenset(TableName(one.owner, one.name) for one in found if one.source_database == self._database)

        return Known(names(self._client), names(SOURCE_TABLES + self._client))

    def run(self, session: LcrSession, groups: Iterable[Group]) -> dict[int, DdlReplError]:
        """Load groups of tables, each in a transaction of its own; return why some are not loaded, by table.

        One that can't be read, or that the target refuses, does not stop the others. Raises BlockedByOthers where none
        can be read.
        """
        groups, clients = list(groups), self._process.clients
        for client in clients.of_kind(ClientKind.SYNC_CAPTURE):  # what comes behind the snapshot is captured
            prepare_client(clients, client)
        ids = list({way.table.id: None for group in groups for way in group.ways})
        with able(self._run.source, GivesRowsAtPosition).snapshot_at_position(ids, self._run.log_identity) as (
            position,
            snapshot,
        ):
            rows = Rows(position, snapshot, self._process.clients.values)
            refused = dict[int, DdlReplError]()
            for group in groups:
                self._run.check_lock()
                try:
                    _require_readable(group, snapshot)
                    filled = session.run(partial(self._load, group, rows))
                except (UnreadableTable, ApplyError, RuleError) as error:
                    names = ", ".join(sorted(map(str, group.tables)))
                    log.warning("%s: not loaded: %s: %s", names, error.code, error.message)
                    refused |= dict.fromkeys((way.table.id for way in group.ways), error)
                    continue
                reach("instantiate.committed")
                self._note(filled, rows)
        return refused

    def _load(self, group: Group, rows: Rows, transaction: LcrTransaction) -> Filled:
        filled = GroupFilling(group, rows, transaction).run()
        for queued, is_loaded in filled.queued.items():
            self._require_not_behind(queued, is_loaded, rows.position)
        seen = rows.snapshot.snapshot
        found = [self._instantiation(name, rows.position, seen, is_loaded) for name, is_loaded in filled.queued.items()]
        transaction.instantiate(self._client, found)
        marks = [self._instantiation(name, rows.position, seen, True) for name in group.tables]
        transaction.instantiate(SOURCE_TABLES + self._client, marks)
        transaction.instantiate(LACKING + self._client, self._lacking(group, filled, rows.position))
        reach("instantiate.copied")
        return filled

    def _lacking(self, group: Group, filled: Filled, position: Position) -> Iterator[Applied]:
        """Yield the source's tables whose rows were not loaded, for their tables at the target were there already."""
        for way in group.ways:
            if not any(filled.queued.get(one) for one in way.queued) and self.given_scn(way.table.name) is None:
                yield Applied(self._database, way.table.name.schema, way.table.name.name, position)

    def _instantiation(self, name: TableName, position: Position, seen: Visibility, is_loaded: bool) -> Applied:
        if is_loaded:
            return Applied(self._database, name.schema, name.name, position - 1, seen=seen)
        return Applied(self._database, name.schema, name.name, max(0, self._began - 1))

    @property
    def _began(self) -> Position:
        """Return where the capture began: an apply process finds changes from there on."""
        if self._process.clients.capture is None:
            return Position(0)
        feeds = [one for one in self._process.clients.feeds(self._process.client.queue) if one.name.endswith(CAPTURE)]
        found = [low for feed in feeds for low in feed.starts()[:1]]
        return min([*found, self._run.captured()])

    def given_scn(self, queued: TableName) -> int | None:
        """Return the position that a person has given for a table."""
        settings = self._process.clients.environment.apply_settings(self._client)
        return settings.given_scn(self._database, queued.schema, queued.name)

    def _require_not_behind(self, queued: TableName, is_loaded: bool, position: Position) -> None:
        """Raise ApplyError APL-136 where a person says that the target has more than its rows contain."""
        scn = self.given_scn(queued)
        if is_loaded and scn is not None and scn >= position:
            raise ApplyError(
                f"set_table_instantiation_scn says that the target has {queued} up to {Position(scn)}, and it has no"
                f" such table; its rows would be those of {position}",
                code="APL-136",
                table=queued,
                hint="create the table at the target and fill it, or take the call out",
            )

    def _note(self, filled: Filled, rows: Rows) -> None:
        for name, count in filled.rows.items():
            self._rows[str(name)] = count
            log.info("%s has %d rows at target %s, as of %s", name, count, self._process.name, rows.position)
        for name, is_loaded in filled.queued.items():
            scn = self.given_scn(name)
            at = rows.position if is_loaded else Position(max(self._began, 0 if scn is None else scn + 1))
            self._positions[str(name)] = at
        for name in filled.existing:
            self._existing[str(name)] = "its rows stay as they are; nobody compares them with the source's"
        self._discarded += filled.discarded
        self._warnings += filled.warnings

    def count_outside(self, routes: Sequence[InsertRoute], tables: Sequence[Table]) -> None:
        """Count the rows of the target's tables that do not meet the conditions of the subset rules of their rows."""
        made = {TableName(*name.split(".", 1)) for name in self._rows}
        found = subsets_of(routes, tables)
        there = self._process.there.existing(found)
        for name, subset in found.items():
            if name in there and name not in made:
                outside = self._process.there.rows_outside(name, subset.conditions, self._database)
                if outside is None:
                    self._warnings.append(f"{name}: this server can't count the rows that do not meet {subset}")
                elif outside:
                    self._outside[str(name)] = outside
                    self._warnings.append(f"{name}: {outside} rows do not meet {subset}: {OUTSIDE_MEANS}")

    def result(self, seconds: float) -> Instantiated:
        """Return what was done."""
        return Instantiated(
            self._process.name,
            dict(self._rows),
            self._positions,
            self._existing,
            dict(self._discarded),
            tuple(self._warnings),
            seconds,
            self._outside,
        )


def _require_readable(group: Group, snapshot: SourceSnapshot) -> None:
    """Raise UnreadableTable for a table of the group that can't be read."""
    for way in group.ways:
        if way.table.id in snapshot.refused:
            raise snapshot.refused[way.table.id]
