"""One cycle of a channel with clients of Streams: captures, propagations, then apply processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.flow.capture.capture import capture
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.run.isolation import FailureIsolation
from airflow_ddlrepl.flow.run.results import Captured, Printable
from airflow_ddlrepl.flow.streams.propagation import Propagated, propagate


@dataclass(frozen=True)
class StreamsCycle(Printable):
    """This is what one cycle of a channel with clients of Streams did: the results of its stages."""

    capture: Captured
    propagate: Propagated

    def to_json(self) -> dict[str, Any]:
        return {"capture": self.capture.to_json(), "propagate": self.propagate.to_json()}

    def text(self) -> str:
        captured, passed = self.capture, self.propagate
        lines = [f"captured {captured.rows} rows in {captured.transactions} transactions up to {captured.high}"]
        lines += [f"propagated {rows} rows by {name}" for name, rows in passed.rows.items()]
        lines += [f"discarded: {n} x {why}" for one in (captured, passed) for why, n in one.discarded.items()]
        lines += [f"left out: {table}: {why}" for table, why in captured.left_out.items()]
        return "\n".join(lines)


def run_clients(run: RunContext) -> StreamsCycle:
    """Let each client of the channel do its work, up to what was committed before the call.

    A client that fails keeps no other one from its work; its error is raised in the end.
    """
    captured = capture(run)
    isolation = FailureIsolation()
    passed = Propagated()
    with isolation.one():
        passed = propagate(run)
    isolation.end()
    return StreamsCycle(captured, passed)
