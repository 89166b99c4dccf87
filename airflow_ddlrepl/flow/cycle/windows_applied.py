"""While a long log is captured, window by window, the rows of those that are captured are applied already.

Rows alone go ahead. From the first schema change on, or where a table waits for something, the stages after the capture
do all of it in their order. What can't be applied here is left to them, too: they say why.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self

from airflow_ddlrepl.engines.target_state import Applied
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.apply.advance import add_applied
from airflow_ddlrepl.flow.apply.pending_log import Attempt, PendingLog, pending_log
from airflow_ddlrepl.flow.apply.tables_of_changes import apply_with_changes
from airflow_ddlrepl.flow.run.context import RunContext, beside, log
from airflow_ddlrepl.flow.run.fencing import claim
from airflow_ddlrepl.flow.run.isolation import FailureIsolation
from airflow_ddlrepl.flow.run.outbox import record
from airflow_ddlrepl.flow.targets.applied_marks import settle_put_back
from airflow_ddlrepl.flow.targets.apply_interval import apply_wait, applying, follows
from airflow_ddlrepl.flow.targets.readiness import ready_targets
from airflow_ddlrepl.model.position import Position


class WindowsApplied:
    """Windows are applied in a thread of their own, one after the other; `with` waits for the last of them.

    applied: what they have brought to the targets.
    """

    def __init__(self, run: RunContext) -> None:
        self.applied = Applied()
        self._run = run
        self._left: set[str] = set()
        self._pool = ThreadPoolExecutor(1, "ddlrepl-apply")
        self._at_work: Future[None] | None = None

    def tell(self, captured: Position) -> None:
        """Begin to apply the log up to a position, unless the log before it is being applied still: then later.

        Raises what concerns the whole run: it has lost the channel, say.
        """
        if self._at_work is not None:
            if not self._at_work.done():
                return
            self._at_work.result()
        self._at_work = self._pool.submit(self._apply, captured)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._pool.shutdown()
        if kind is None and self._at_work is not None:
            self._at_work.result()

    def _apply(self, until: Position) -> None:
        """Apply rows up to a position at each target that takes them; one that does not is left to the stages."""
        with beside(self._run) as run:
            run.targets.away |= self._left
            for target in ready_targets(run):
                isolation = FailureIsolation()
                with isolation.one(target.name):
                    if apply_wait(run, target.name) is not None:
                        continue  # a later window may bring so much log that it is worth it
                    with applying(run, target.name):
                        if not self._is_applied_at(run, target.name, until):
                            self._left.add(target.name)
                for error in isolation.errors:
                    self._left.add(target.name)
                    log.info("target %s: the rest is applied when all is captured: %s", target.name, error)
            self._left |= run.targets.failed.keys()

    def _is_applied_at(self, run: RunContext, target: str, until: Position) -> bool:
        """Apply rows up to a position at a target; return False, with nothing done, where more than rows are due."""
        if not run.target(target).capabilities.takes_windows:
            return False
        settle_put_back(run, target)
        claim(run, target)
        record(run, target)
        attempt = Attempt(until)
        ahead = pending_log(run, target, attempt=attempt)
        if not _has_rows_alone(ahead):
            return False
        program = ahead.program(ahead.high)
        for name, part in apply_with_changes(run, ahead, program, attempt) if program.does_anything else []:
            add_applied(self.applied, part, name)
        reach("replicate.window")
        return True


def _has_rows_alone(ahead: PendingLog) -> bool:
    """Is there nothing to do but to apply rows, and does no table wait for a load or for another one?"""
    return ahead.has_rows_alone and all(map(follows, ahead.table_states.values()))
