"""One cycle of a channel with clients of Streams: captures, propagations, then apply processes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from airflow_ddlrepl.flow.capture.capture import capture
from airflow_ddlrepl.flow.cycle.expire_queues import expire_queues
from airflow_ddlrepl.flow.pipelines import require_targets
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.run.isolation import FailureIsolation
from airflow_ddlrepl.flow.run.results import Captured, Printable
from airflow_ddlrepl.flow.streams.apply_process.apply import AppliedLcrs, apply, apply_process, has_lcrs
from airflow_ddlrepl.flow.streams.clients import StreamsClients
from airflow_ddlrepl.flow.streams.function_uses import needless_hints
from airflow_ddlrepl.flow.streams.instantiation.joined_tables import bring_joined_tables, lacks_changes
from airflow_ddlrepl.flow.streams.propagation import Propagated, propagate
from airflow_ddlrepl.flow.streams.sync_capture import SyncCaptured, sync_capture
from airflow_ddlrepl.flow.targets.stop_position import Until
from airflow_ddlrepl.streams.rules.client import ClientKind
from airflow_ddlrepl.streams.rules.function_use import FunctionUse
from airflow_ddlrepl.visible import as_lines


@dataclass(frozen=True)
class StreamsCycle(Printable):
    """This is what one cycle of a channel with clients of Streams did: the results of its stages.

    capture: None where no capture process reads the log. hints: functions that left most of what they got as it was.
    """

    capture: Captured | None
    sync_capture: SyncCaptured
    propagate: Propagated
    apply: AppliedLcrs
    hints: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        stages = {name: result for name, result in vars(self).items() if isinstance(result, Printable)}
        return {**{name: result.to_json() for name, result in stages.items()}, "hints": list(self.hints)}

    @property
    def functions(self) -> list[FunctionUse]:
        """Return the custom functions that clients have called."""
        captured = self.capture.functions if self.capture is not None else ()
        return [*captured, *self.propagate.functions, *self.apply.functions]

    def text(self) -> str:
        lines, captured = [], self.capture
        if captured is not None:
            lines.append(f"captured {captured.rows} rows in {captured.transactions} transactions up to {captured.high}")
        if captured is not None and captured.steps:
            steps = ", ".join(f"{step} as {user}" for step, user in captured.steps.items())
            lines.append(f"steps of the capture process: {steps}")
        lines += [f"captured {rows} rows by {name}" for name, rows in self.sync_capture.rows.items()]
        lines += [f"propagated {rows} rows by {name}" for name, rows in self.propagate.rows.items()]
        lines += [f"loaded {rows} rows of a table that has joined: {name}" for name, rows in self.apply.loaded.items()]
        changes = ", ".join(f"{n} {kind}" for kind, n in self.apply.changes.items()) or "nothing"
        lines.append(f"applied {self.apply.transactions} transactions: {changes}")
        lines += [f"error queue of {name}: {n} transactions wait" for name, n in self.apply.waiting.items()]
        discarding = [one.discarded for one in (captured, self.propagate, self.apply) if one is not None]
        lines += [f"discarded: {n} x {why}" for discarded in discarding for why, n in discarded.items()]
        lines += [f"left out: {table}: {why}" for table, why in (captured.left_out if captured else {}).items()]
        lines += [f"not there: {table}" for table in self.sync_capture.missing]
        lines += [str(use) for use in self.functions]
        return as_lines(lines + [f"warning: {warning}" for warning in (*self.apply.warnings, *self.hints)])


def run_clients(run: RunContext, until: Until | None = None) -> StreamsCycle:
    """Let each client of the channel do its work, up to what was committed before the call.

    A client that fails keeps no other one from its work; its error is raised in the end. Raises ConfigError CFG-191
    with `until`: a client goes on to the end of its queue.
    """
    if until is not None:
        require_targets(run.channel, "--until")
    isolation, section = FailureIsolation(), run.channel.clients
    captured, written, passed, applied = None, SyncCaptured(), Propagated(), AppliedLcrs()
    with isolation.one(client=f"{ClientKind.CAPTURE.words} {section.capture_name}".strip()):
        captured = capture(run) if section.captures else None
    with isolation.one():
        written = sync_capture(run)
    with isolation.one():
        passed = propagate(run)
    with isolation.one():
        applied = apply_queues(run)
    with isolation.one():
        if not section.targets:  # no apply process tells of it
            StreamsClients(run).require_fitting()
    isolation.end()
    done = StreamsCycle(captured, written, passed, applied)
    return replace(done, hints=needless_hints(StreamsClients(run), done.functions))


def has_queued(run: RunContext, of: str = "") -> bool:
    """Is there something that an apply process has yet to apply, or that each run has to tell of a target?

    of: a target; empty: any. Raises what `has_lcrs` raises.
    """
    if has_lcrs(run, of):
        return True
    clients = StreamsClients(run)
    for target in clients.targets(of):
        with apply_process(clients, target) as process:
            if lacks_changes(process):
                return True
    return False


def apply_queues(run: RunContext, target: str = "") -> AppliedLcrs:
    """Apply what is in the queues of apply processes, and remove what nobody needs any more. target: only this one.

    Tables that have joined since the last activation are loaded first.

    Raises what `apply` raises.
    """
    applied = apply(run, target, bring_joined_tables)
    with run.locked():
        expire_queues(run)
    return applied
