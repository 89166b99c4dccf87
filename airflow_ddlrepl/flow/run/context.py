"""A run context is one channel opened for work: its file, repository, trail, source, and the lock that a run holds."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property, partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self

from airflow_ddlrepl.adapt.plan_model import Executed
from airflow_ddlrepl.adapt.policy import makes_two_of_rename
from airflow_ddlrepl.capture.numbering import Numbering
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.location import process_user, redact, resolve
from airflow_ddlrepl.config.sections.policies import Defaults
from airflow_ddlrepl.config.sections.scope import Scope
from airflow_ddlrepl.engines import of_sources, reusing_sessions, source_engine
from airflow_ddlrepl.engines.numbered_source import NumberedSource
from airflow_ddlrepl.engines.source import Source
from airflow_ddlrepl.engines.target import Target as TargetPort
from airflow_ddlrepl.engines.target_state import Fence
from airflow_ddlrepl.errors import ConfigError, DdlReplError, Unreachable
from airflow_ddlrepl.flow.run.targets import ChannelTargets
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.ports.positions import Positions
from airflow_ddlrepl.ports.server_traits import ServerTraits
from airflow_ddlrepl.ports.types import TypeSystem
from airflow_ddlrepl.ports.work import Runner
from airflow_ddlrepl.repository.lock import ChannelLock
from airflow_ddlrepl.repository.process import this_holder
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.repository.stored.health_rows import StageEnd
from airflow_ddlrepl.repository.stored.rows import SegmentRow
from airflow_ddlrepl.scope.client import Client
from airflow_ddlrepl.scope.decide import ChangeKind, decide
from airflow_ddlrepl.trail.store import Trail

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger("ddlrepl")


def _this_run() -> str:
    return f"{socket.gethostname()}-{os.getpid()}"


def _holder(purpose: str, run_id: str) -> str:
    """Return who holds the channel, and why: `anna@etl1 (process 7), replicate of run scheduled__2026-11-21`."""
    who = this_holder()
    return f"{who}, {purpose}" if run_id in (who, _this_run()) else f"{who}, {purpose} of run {run_id}"


def _tell_of_wait(repository: Repository, channel: str, seconds: float) -> None:
    """Log for whom this run waits; nothing where it does not wait."""
    if seconds and (held := repository.holder_error(channel)) is not None:
        log.info("waits, at most %d seconds: %s", seconds, held.message)


def _nobody(run: RunContext, end: StageEnd, result: Mapping[str, Any]) -> None:
    """Tell nobody that a stage has ended."""


class RunContext:
    """A run context has what the stages of one run share. `with` closes it.

    run_id: in the repository. log_identity: of the source's log, once it is followed. user: who started it.
    wait_seconds: how long it waits for another run of the channel. comes_again: when that is too long, its starter
    tries again, no error then. executed: SQL for schema changes. part: the client or target, in words; empty: all.
    stage_ended: is called before the end.
    """

    stage_ended: ClassVar[Callable[[RunContext, StageEnd, Mapping[str, Any]], None]] = _nobody

    def __init__(self, channel: Channel, runner: Runner, run_id: str = "", user: str = "") -> None:
        """user: empty: the process's user of the operating system."""
        self.channel, self.runner = channel, runner
        self.run_id = run_id or _this_run()
        self.user = user or process_user()
        self._lock: ChannelLock | None = None
        self._kept: list[BaseException] = []
        self.executed: list[Executed] = []
        self.wait_seconds, self.comes_again = 0.0, False
        self.is_claimed, self.stage, self.part = False, "", ""
        self.log_identity = ""
        self._sessions = ExitStack()
        self.targets = ChannelTargets(channel, self._reported_targets)

    @cached_property
    def repository(self) -> Repository:
        """Return the channel's repository, which opens at its first use."""
        return Repository.open(self.channel.repository)

    @cached_property
    def trail(self) -> Trail:
        """Return the channel's trail."""
        found = Trail(self.channel.trail, self.channel.name)
        found.is_own = partial(self.repository.is_captured, self.channel.name)
        found.known_loads = partial(self.repository.load_digests, self.channel.name)
        return found

    @cached_property
    def scope(self) -> Scope:
        """Return the channel's scope, which says what tables it includes."""
        return Scope.of(self.channel)

    @cached_property
    def capture_client(self) -> Client:
        """Return the client that reads the source's log, for the rules."""
        return Client(self.scope)

    @cached_property
    def positions(self) -> Positions:
        """Return the engine's description of what positions of the source's log mean."""
        return source_engine(self.channel).positions

    @cached_property
    def types(self) -> TypeSystem:
        """Return the type system of the source's engine: what its types do to values."""
        return source_engine(self.channel).types

    @cached_property
    def source(self) -> Source:
        """Return the channel's source, which connects at its first use."""
        location = resolve(self.channel.source.location)
        found = of_sources(location).source(self.channel, location)
        if isinstance(found, NumberedSource):
            found.known = partial(_known_tables, self)
        return found

    @cached_property
    def _members(self) -> set[int]:
        return self.source.membership.members()

    @cached_property
    def source_traits(self) -> ServerTraits | None:
        """Return what the source's computed values depend on; None where it does not answer: a rewind needs none."""
        try:
            return self.source.catalog.traits()
        except Unreachable:
            return None

    def joins(self, table: Table, before: Revision | None = None) -> bool:
        """Does a table join the channel, or stay in it: by its name, or because it is no longer left out?

        before: its newest revision. It stays under another name, but for HVR's defaults: that is a new table's then.
        """
        known = before.table if before is not None else None
        if known is not None and not makes_two_of_rename(self.channel, known, table):
            return True
        is_taken = decide(self.capture_client, table.name, ChangeKind.NEW_TABLE).is_taken
        is_out = before is not None and self.channel.defaults is Defaults.HVR
        return is_taken or (table.id in self._members and not is_out)

    def claim_source(self) -> None:
        """Raise RepositoryError REP-107 when our repository's channel of this name reads another database."""
        if self.token and not self.is_claimed:
            self.repository.claim_source(self.channel.name, self.token, self.source.identity())
            self.is_claimed = True

    def _reported_targets(self) -> frozenset[str]:
        """Return the targets that an earlier stage of this run has found not to answer: it has failed for them."""
        if is_of_one_process(self):
            return frozenset()
        rows = self.repository.errors_of_run(self.channel.name, self.run_id, but=self.stage)
        return frozenset(row.target for row in rows if row.target is not None and row.is_a(Unreachable))

    def keep_failed_targets(self) -> None:
        """Record the errors of the targets that the stage left out, whatever else it ends with."""
        for error in self.targets.failed.values():
            self.keep_error(self.stage, error, error)

    def target(self, name: str) -> TargetPort:
        """Return the target or replay of that name, connected until this run ends.

        Raises Unreachable or ConfigError, which name the target.
        """
        return self.targets.connected(name)

    @property
    def fence(self) -> Fence:
        """Return the fence by which the targets refuse everything of an earlier run."""
        return Fence(self.epoch, self.token)

    @property
    def token(self) -> int:
        """Return the fencing token of the lock that this run holds; 0 without one, which no write accepts."""
        return self._lock.token if self._lock else 0

    @property
    def epoch(self) -> int:
        """Return the channel's epoch: it grows when every table starts over."""
        row = self.repository.channel(self.channel.name)
        return row.epoch if row else 0

    @contextmanager
    def locked(self, purpose: str = "work", wait_seconds: float = 0) -> Iterator[int]:
        """Hold the channel; inside another `locked` of this run, the same lock. Yields the fencing token.

        purpose: what for, as others read it while they wait. wait_seconds: if that is longer than the run's own.
        """
        if self._lock is not None:
            yield self._lock.token
            return
        self.repository.ensure_channel(self.channel.name, self.channel.fingerprint())
        lease = float(self.channel.lock.lease_seconds)
        wait = max(wait_seconds, self.wait_seconds)
        _tell_of_wait(self.repository, self.channel.name, wait)
        with self.repository.lock(self.channel.name, _holder(purpose, self.run_id), lease, wait) as lock:
            self._lock = lock
            try:
                yield lock.token
            finally:
                self._lock = None

    def check_lock(self) -> None:
        """Raise Fenced when this run has lost the channel. Call it before anything that can't be taken back."""
        if self._lock is not None:
            self._lock.check()

    def keep_error(self, stage: str, raised: BaseException, known: DdlReplError) -> None:
        """Record the error `known` for an exception, once, however many stages that passes on its way out."""
        if "repository" in self.__dict__ and all(raised is not one for one in self._kept):
            self._kept.append(raised)
            self.repository.record_error(self.channel.name, self.run_id, stage, known)

    def is_active(self) -> bool:
        """Is the channel activated?"""
        row, position = self.repository.channel_and_position(self.channel.name)
        return row is not None and row.is_activated and position is not None

    def captured(self) -> Position:
        """Return the captured position. Raises ConfigError CFG-130 when the channel is not active."""
        row, position = self.repository.channel_and_position(self.channel.name)
        if row is None or not row.is_activated or position is None:
            raise ConfigError(
                f"channel {self.channel.name} is not activated in repository {redact(self.channel.repository)}",
                code="CFG-130",
                hint="run `ddlrepl activate` with the channel's file. If that was done, it was with another repository:"
                " name one in the channel file, or set DDLREPL_HOME alike for your shell and for Airflow's workers",
            )
        return position

    def live_segments(self) -> list[SegmentRow]:
        """Return the segments that the trail holds, in log order."""
        return [row for row in self.repository.segments(self.channel.name) if row.state == "live"]

    def transactions(self, segment: SegmentRow) -> pa.Table:
        """Return the transactions of one segment; columns as `trail.transaction_columns.TRANSACTIONS` has them."""
        return self.trail.transactions(self.trail.segment(segment.epoch, segment.low))

    def __enter__(self) -> Self:
        self._sessions.enter_context(reusing_sessions())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._sessions.close()  # before they are closed: nobody wants them to be as good as new, nor asks a dead server
        self.targets.close()
        if "source" in self.__dict__:
            self.source.close()
        if "repository" in self.__dict__:
            self.repository.close()


def is_of_one_process(run: RunContext) -> bool:
    """Does one process do all stages of the run, or one of them for itself? Others may have the same id later."""
    return run.run_id in (this_holder(), _this_run())


def beside(run: RunContext) -> RunContext:
    """Return another context of a run, for a thread of its own: it holds the same lock, and opens its own connections.

    `with` closes these; the lock stays the run's, which must not end before.
    """
    found = RunContext(run.channel, run.runner, run.run_id, run.user)
    found._lock, found.log_identity, found.stage = run._lock, run.log_identity, run.stage
    found.targets.applies_now = run.targets.applies_now
    return found


def _known_tables(run: RunContext, numbering: Numbering, position: Position | None) -> Numbering:
    """Return a numbering with the tables that the repository knows at a position; None: where capture is.

    What is read again is numbered by what was known then.
    """
    captured, histories = run.repository.captured(run.channel.name), run.repository.histories(run.channel.name)
    if captured is None:
        return numbering
    if position is None or position >= captured:
        return numbering.known(histories, captured)
    before = {i: [one for one in found if one.key < LogKey(position, 0)] for i, found in histories.items()}
    return numbering.known({i: found for i, found in before.items() if found}, position)
