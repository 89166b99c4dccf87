"""One cycle of a channel with clients of Streams: captures, propagations, then apply processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.flow.capture.capture import capture
from airflow_ddlrepl.flow.cycle.expire_queues import expire_queues
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.run.isolation import FailureIsolation
from airflow_ddlrepl.flow.run.results import Captured, Printable
from airflow_ddlrepl.flow.streams.apply_process.apply import AppliedLcrs, apply
from airflow_ddlrepl.flow.streams.propagation import Propagated, propagate
from airflow_ddlrepl.flow.streams.sync_capture import SyncCaptured, sync_capture


@dataclass(frozen=True)
class StreamsCycle(Printable):
    """This is what one cycle of a channel with clients of Streams did: the results of its stages.

    capture: None where no capture process reads the log.
    """

    capture: Captured | None
    sync_capture: SyncCaptured
    propagate: Propagated
    apply: AppliedLcrs

    def to_json(self) -> dict[str, Any]:
        stages = {
            "capture": self.capture,
            "sync_capture": self.sync_capture,
            "propagate": self.propagate,
            "apply": self.apply,
        }
        return {name: result.to_json() for name, result in stages.items() if result is not None}

    def text(self) -> str:
        lines, captured = [], self.capture
        if captured is not None:
            lines.append(f"captured {captured.rows} rows in {captured.transactions} transactions up to {captured.high}")
        lines += [f"captured {rows} rows by {name}" for name, rows in self.sync_capture.rows.items()]
        lines += [f"propagated {rows} rows by {name}" for name, rows in self.propagate.rows.items()]
        changes = ", ".join(f"{n} {kind}" for kind, n in self.apply.changes.items()) or "nothing"
        lines.append(f"applied {self.apply.transactions} transactions: {changes}")
        lines += [f"error queue of {name}: {n} transactions wait" for name, n in self.apply.waiting.items()]
        discarding = [one.discarded for one in (captured, self.propagate, self.apply) if one is not None]
        lines += [f"discarded: {n} x {why}" for discarded in discarding for why, n in discarded.items()]
        lines += [f"left out: {table}: {why}" for table, why in (captured.left_out if captured else {}).items()]
        lines += [f"not there: {table}" for table in self.sync_capture.missing]
        return "\n".join(lines + [f"warning: {warning}" for warning in self.apply.warnings])


def run_clients(run: RunContext) -> StreamsCycle:
    """Let each client of the channel do its work, up to what was committed before the call.

    A client that fails keeps no other one from its work; its error is raised in the end.
    """
    isolation = FailureIsolation()
    captured, written, passed, applied = None, SyncCaptured(), Propagated(), AppliedLcrs()
    with isolation.one():
        captured = capture(run) if run.channel.streams and run.channel.streams.captures else None
    with isolation.one():
        written = sync_capture(run)
    with isolation.one():
        passed = propagate(run)
    with isolation.one():
        applied = apply_queues(run)
    isolation.end()
    return StreamsCycle(captured, written, passed, applied)


def apply_queues(run: RunContext, target: str = "") -> AppliedLcrs:
    """Apply what is in the queues of apply processes, and remove what nobody needs any more. target: only this one.

    Raises what `apply` raises.
    """
    applied = apply(run, target)
    with run.locked():
        expire_queues(run)
    return applied
