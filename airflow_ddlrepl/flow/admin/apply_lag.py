"""How far the target of an apply process is behind is how old the oldest commit is that it does not have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from airflow_ddlrepl.engines.abilities.lcr_target import QueuedError
from airflow_ddlrepl.errors import TrailError
from airflow_ddlrepl.flow.client_states.queued import commits_behind
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.streams.apply_process.apply import ApplyProcess
from airflow_ddlrepl.flow.streams.feed import CapturedManifests, Feed
from airflow_ddlrepl.flow.targets.lag import Lag, age, oldest_captured
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.repository.stored.rows import RunStatus
from airflow_ddlrepl.streams.messages import MessageClass


@dataclass(frozen=True)
class ApplyLag:
    """This finds how far targets of apply processes are behind.

    uncaptured: how old the oldest commit is that is not captured. clock: the source's.
    """

    run: RunContext
    uncaptured: Lag
    clock: datetime

    def of(
        self, process: ApplyProcess, positions: Iterable[tuple[Feed, Position | None]], errors: Sequence[QueuedError]
    ) -> Lag:
        """Return how far a target is behind: what waits in its error queue, in its queue, and before its queue.

        positions: where it is in each feed. errors: what waits in its error queue.
        """
        lags = [self._of_error_queue(errors)]
        try:
            lags += [self._of_feed(feed, at) for feed, at in positions]
        except TrailError as error:
            log.error("target %s: %s", process.name, error)
            return Lag(None)
        return _greatest(lags)

    def _of_error_queue(self, errors: Sequence[QueuedError]) -> Lag:
        oldest = min((one.failed.committed for one in errors), default=None)
        return Lag(0.0) if oldest is None else Lag(age(datetime.fromtimestamp(oldest / 1_000_000, UTC), self.clock))

    def _of_feed(self, feed: Feed, at: Position | None) -> Lag:
        oldest = next(commits_behind(feed, at), None)
        if oldest is not None:
            return Lag(age(oldest, self.clock))
        if isinstance(feed.manifests, CapturedManifests):
            return self.uncaptured
        if feed.message_class is MessageClass.CAPTURED:
            passed = oldest_captured(self.run, self.run.live_segments(), feed.end() or Position(0))
            return self.uncaptured if passed is None else Lag(age(passed, self.clock))
        return self._since_the_last_run()

    def _since_the_last_run(self) -> Lag:
        """Return what holds of a feed whose writer can't be asked: what committed before its last run is there."""
        runs = self.run.repository.runs(self.run.channel.name)
        done = (one.started for one in runs if one.stage == "sync_capture" and one.status is RunStatus.DONE)
        seen = max(done, default=None)
        return Lag(None) if seen is None else Lag(age(seen, datetime.now(UTC)), is_at_most=True)


def _greatest(lags: list[Lag]) -> Lag:
    """Return the greatest lag; one that is not known makes the whole unknown."""
    unknown = next((one for one in lags if one.seconds is None), None)
    return unknown if unknown is not None else max(lags, key=lambda one: one.seconds or 0.0)
