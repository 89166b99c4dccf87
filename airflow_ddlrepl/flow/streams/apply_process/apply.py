"""Apply processes write what is in their queues to their targets, transaction by transaction."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

from airflow_ddlrepl.config.sections.location import resolve, user_of
from airflow_ddlrepl.config.sections.streams import ApplyTarget
from airflow_ddlrepl.engines import engine
from airflow_ddlrepl.engines.abilities.lcr_target import LcrSession, LcrTarget, OpenedSessions, TakesLcrs
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.errors import ApplyError, ConfigError, DdlReplError, Unreachable
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.isolation import FailureIsolation
from airflow_ddlrepl.flow.run.results import Printable
from airflow_ddlrepl.flow.run.stage import stage
from airflow_ddlrepl.flow.run.targets import about_target
from airflow_ddlrepl.flow.stages import APPLY
from airflow_ddlrepl.flow.streams.apply_process.allowed_code import AllowedCode
from airflow_ddlrepl.flow.streams.apply_process.apply_feed import FeedApply
from airflow_ddlrepl.flow.streams.apply_process.apply_rules import ApplyRules
from airflow_ddlrepl.flow.streams.apply_process.group_apply import GroupApply
from airflow_ddlrepl.flow.streams.apply_process.handlers import Handlers
from airflow_ddlrepl.flow.streams.apply_process.ruled_rows import RuledRows
from airflow_ddlrepl.flow.streams.apply_process.suspended_tables import (
    SuspendedTable,
    require_none,
    suspended_tables,
)
from airflow_ddlrepl.flow.streams.apply_process.typed_values import TypedValues
from airflow_ddlrepl.flow.streams.clients import CAPTURE, StreamsClients
from airflow_ddlrepl.flow.streams.feed import Feed
from airflow_ddlrepl.flow.streams.function_uses import warn_of_needless
from airflow_ddlrepl.flow.streams.propagation import require_retained
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.streams.queue.reader import QueueReader
from airflow_ddlrepl.streams.queue.stage import ClientStage
from airflow_ddlrepl.streams.rules.client import Client, ClientKind
from airflow_ddlrepl.streams.rules.function_use import FunctionUse, summed


@dataclass(frozen=True)
class AppliedLcrs(Printable):
    """This is what apply processes did: transactions, changes by kind, and transactions that failed, all of them now.

    waiting: transactions in the error queues, by target, when they ended. discarded: messages that they have not taken,
    by object and reason. positions: by target and feed. functions: that rules have called. loaded: rows of tables that
    have joined, by target and table. fewer_sessions: by target, why fewer transactions were applied at the same time
    than `parallelism` says.
    """

    transactions: int = 0
    changes: dict[str, int] = field(default_factory=dict)
    errors: int = 0
    waiting: dict[str, int] = field(default_factory=dict)
    discarded: dict[str, int] = field(default_factory=dict)
    positions: dict[str, Position] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
    functions: tuple[FunctionUse, ...] = ()
    loaded: dict[str, int] = field(default_factory=dict)
    fewer_sessions: dict[str, str] = field(default_factory=dict)


class Prepared(Protocol):
    """This is what was done at a target before its changes are applied: rows loaded by table, and warnings."""

    @property
    def rows(self) -> Mapping[str, int]:
        """Return how many rows were loaded, by table."""
        ...

    @property
    def warnings(self) -> Sequence[str]:
        """Return what people should know."""
        ...

    @property
    def uncaptured(self) -> Sequence[str]:
        """Return, in words, tables that lack changes because triggers did not capture them."""
        ...


@dataclass
class ApplyProcess:
    """An apply process is one target with the client that writes it, as a run finds them. there: the database.

    not_loaded: why tables of the source, by id, are not there yet: the load to come has what is passed over until then.
    """

    clients: StreamsClients
    target: ApplyTarget
    client: Client
    there: LcrTarget
    not_loaded: dict[int, DdlReplError] = field(default_factory=dict)

    @property
    def rules(self) -> ApplyRules:
        """Return the client's rules, with what its tables have already."""
        settings = self.clients.environment.apply_settings(self.client.name)
        stored = self.there.instantiations(self.client.name)
        settings = replace(settings, applied=(*settings.applied, *stored))
        database, user = self.clients.database, user_of(self.target.location)
        functions = self.clients.functions.of_client(self.client, user)
        stage = ClientStage(self.client, database, self.clients.values, functions)
        suspended = {one.table_id: one.at for one in self.suspended()} | dict.fromkeys(self.not_loaded, Position(0))
        return ApplyRules(self.client, settings, functions, database, stage, AllowedCode.of(self.target), suspended)

    def handlers(self, rules: ApplyRules) -> Handlers:
        """Return what applies the client's messages."""
        values = TypedValues(self.clients.values)
        return Handlers(self.client.name, rules.settings, rules.functions, values, AllowedCode.of(self.target))

    @property
    def name(self) -> str:
        """Return the target's name."""
        return self.target.name

    def suspended(self) -> list[SuspendedTable]:
        """Return the source's tables that are suspended here."""
        return suspended_tables(self.clients, self.there, self.client)

    def positions(self) -> list[tuple[Feed, Position | None]]:
        """Return the feeds of the queue with up to where each is applied; None: nothing of it is, in its epoch."""
        known = self.there.positions(self.client.name)
        found = [(feed, known.get(feed.name)) for feed in self.clients.feeds(self.client.queue)]
        return [(feed, at.position if at is not None and at.epoch == feed.epoch else None) for feed, at in found]

    @contextmanager
    def writing(self) -> Iterator[LcrSession]:
        """Open a session that writes; every earlier run of the channel is stopped from writing there."""
        with self.writing_side_by_side(1) as opened:
            yield opened.sessions[0]

    @contextmanager
    def writing_side_by_side(self, most: int) -> Iterator[OpenedSessions]:
        """Open at most so many sessions that write, as `writing` does. Raises ApplyError APL-121 where none can."""
        run = self.clients.run
        run.check_lock()
        self.there.prepare(run.fence)
        with self.there.sessions(run.fence, most) as opened:
            yield opened


@contextmanager
def apply_process(clients: StreamsClients, target: ApplyTarget) -> Iterator[ApplyProcess]:
    """Connect to the target of an apply process.

    Raises RuleError RUL-113 where no call makes its client, Unreachable or ConfigError, which name the target.
    """
    client = clients.environment.existing_client(ClientKind.APPLY, target.apply)
    run = clients.run
    try:
        location = resolve(target.location)
        holder, owners = run.channel.holder(target.name), (*target.trusted_owners, *target.run_as.values())
        there = able(engine(location), TakesLcrs).lcr_target(location, holder, target.lock_timeout, owners)
    except (Unreachable, ConfigError) as error:
        raise about_target(target.name, error) from None
    try:
        yield ApplyProcess(clients, target, client, there)
    finally:
        there.close()


@stage(APPLY)
def apply(run: RunContext, target: str = "", before: Callable[[ApplyProcess], Prepared] | None = None) -> AppliedLcrs:
    """Apply what is in the queues of the apply processes; each goes as far as it can. target: only this one.

    before: what is done for each of them first. Raises what that does, and then applies nothing of the process's queue;
    ApplyError APL-110 or APL-111 where a transaction in the error queue stops a client, APL-113 where a rule can't
    handle a message, APL-121 where a target has no replication origin for its changes; once all others are applied,
    what keeps tables from their load, APL-122 where tables are suspended, APL-138 for tables of which changes were not
    captured.
    """
    started = time.monotonic()
    clients = StreamsClients(run)
    total, isolation = _Total(), FailureIsolation()
    run.part = clients.target(target).part if target else ""
    for one in clients.targets(target):
        with isolation.one(one.name), apply_process(clients, one) as process:
            prepared = before(process) if before is not None else None
            if prepared is not None:
                total.add_prepared(process, prepared)
            _apply(process, total)
            for why in dict.fromkeys(process.not_loaded.values()):
                with isolation.one(one.name):
                    raise why
            with isolation.one(one.name):
                require_none(process.suspended())
            if prepared is not None:
                _require_captured(prepared.uncaptured)
    isolation.end()
    found = total.result(round(time.monotonic() - started, 2))
    warn_of_needless(clients, found.functions)
    return found


def _require_captured(uncaptured: Sequence[str]) -> None:
    """Raise ApplyError APL-138 where tables lack changes that no capture has: all others are applied by then."""
    if uncaptured:
        raise ApplyError(
            "; ".join(uncaptured),
            code="APL-138",
            hint="drop the target's table and run `ddlrepl activate`, or make the rows equal by other means",
        )


def has_lcrs(run: RunContext, of: str = "") -> bool:
    """Is there a segment that an apply process has yet to apply, or something that each run has to tell?

    of: a target; empty: any. Raises ConfigError CFG-130 when the channel is not active, CFG-193 for an unknown target.
    """
    clients = StreamsClients(run)
    run.captured()
    run.part = clients.target(of).part if of else ""
    try:
        return any(_has_lcrs(clients, one) for one in clients.targets(of))
    except Unreachable:
        return True  # the stage says so, and applies what is for the other targets


def _has_lcrs(clients: StreamsClients, target: ApplyTarget) -> bool:
    with apply_process(clients, target) as process:
        clients.require_fed(process.client)
        if any(next(feed.segments(at), None) is not None for feed, at in process.positions()):
            return True
        settings = clients.environment.apply_settings(process.client.name)
        is_stopped = settings.disables_on_error and process.there.errors(process.client.name)
        return bool(is_stopped or process.suspended())


class _Total:
    """This total adds up what apply processes do."""

    def __init__(self) -> None:
        self.transactions = 0
        self.errors = 0
        self.changes: Counter[str] = Counter()
        self.waiting: dict[str, int] = {}
        self.discarded: Counter[str] = Counter()
        self.positions: dict[str, Position] = {}
        self.warnings: dict[str, None] = {}
        self.functions: list[FunctionUse] = []
        self.loaded: dict[str, int] = {}
        self.fewer_sessions: dict[str, str] = {}

    def add_prepared(self, process: ApplyProcess, prepared: Prepared) -> None:
        """Add what was done before the changes of a process are applied."""
        self.loaded |= {f"{process.name}: {table}": rows for table, rows in prepared.rows.items()}
        for warning in prepared.warnings:
            self._warn(process, warning)

    def add_fewer(self, process: ApplyProcess, sessions: int, wanted: int, why: str) -> None:
        """Add that a process has fewer sessions than its `parallelism` asks for, and why."""
        text = f"at most {sessions} transactions are applied at the same time, not {wanted} (`parallelism`): {why}"
        self._warn(process, text)
        self.fewer_sessions[process.name] = text

    def _warn(self, process: ApplyProcess, warning: str) -> None:
        log.warning("target %s: %s", process.name, warning)
        self.warnings[f"target {process.name}: {warning}"] = None

    def add(self, process: ApplyProcess, feed: FeedApply, at: Position) -> None:
        """Add what was done of a feed."""
        self.transactions += feed.done.transactions
        self.errors += feed.done.failed
        self.changes.update(feed.done.kinds)
        self.positions[f"{process.name}:{feed.feed}"] = at

    def result(self, seconds: float) -> AppliedLcrs:
        """Return the sum as a result."""
        known = dict(self.changes), self.errors, self.waiting, dict(self.discarded), self.positions
        functions = tuple(summed(self.functions))
        more = functions, self.loaded, self.fewer_sessions
        return AppliedLcrs(self.transactions, *known, tuple(self.warnings), seconds, *more)


def _apply(process: ApplyProcess, total: _Total) -> None:
    client, rules = process.client, process.rules
    rules.require_functions()
    process.clients.require_fed(client)
    with process.writing_side_by_side(rules.settings.parallelism) as opened:
        _require_enabled(process, rules)
        session, *others = opened.sessions
        if opened.why_fewer:
            total.add_fewer(process, len(opened.sessions), rules.settings.parallelism, opened.why_fewer)
        # The reader gives all messages; `ApplyRules` decides about them one by one.
        every = ClientStage(Client(client.name, ClientKind.APPLY), process.clients.database, process.clients.values)
        for feed, position in process.positions():
            reader = QueueReader(
                feed.trail,
                every,
                process.clients.values,
                feed.message_class,
                is_typed=rules.reads_values,
            )
            if feed.name == CAPTURE:
                require_retained(process.clients.run, client, position)
            handlers = process.handlers(rules)
            one = FeedApply(session, rules, handlers, feed.name, feed.epoch, process.clients.database, others)
            of_rows = RuledRows(rules, process.clients.values, feed.message_class)
            groups = GroupApply(one, feed.trail, reader, of_rows)
            try:
                for segment in feed.segments(position):
                    position = groups.run(segment, position or segment.low)
            finally:
                total.add(process, one, position or Position(0))
        waiting = process.there.errors(client.name)
    if waiting:
        total.waiting[process.name] = len(waiting)
        total.warnings[f"target {process.name}: {len(waiting)} transactions wait in the error queue"] = None
    total.functions += rules.functions.uses
    total.discarded.update(rules.discarded + every.discarded)
    total.warnings.update(rules.warnings)


def _require_enabled(process: ApplyProcess, rules: ApplyRules) -> None:
    """Raise ApplyError APL-111 where a transaction in the error queue has disabled the client."""
    waiting = process.there.errors(process.client.name)
    if waiting and rules.settings.disables_on_error:
        first = waiting[0]
        raise ApplyError(
            f"apply client {process.client.name} is disabled: transactions wait in its error queue ({len(waiting)}),"
            f" the first because of: {first.failed.error}",
            code="APL-111",
            target=process.name,
            at=first.failed.lsn,
            hint=f"`ddlrepl errors show CHANNEL.yaml {process.name}/{first.number}`; then `errors retry --all`"
            " or `errors delete` with this ID; or set_parameter disable_on_error N",
        )
