"""A cycle that must not go to the end of the log (`--until`) stops at a position; this module finds it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.targets.readiness import ready_targets
from airflow_ddlrepl.model.position import Position

Until = Position | datetime
CLOCK_MARGIN = 60_000_000  # µs that a server's clock may have been set back


def require_past(run: RunContext, until: Until) -> None:
    """Raise DdlReplError CTL-110 for a moment or a position that the source has not come to yet."""
    now: Any = run.source.stable_end() if isinstance(until, Position) else run.source.clock()
    if until > now:
        raise DdlReplError(
            f"the source has not reached {until} yet: it is at {now}",
            code="CTL-110",
            hint="wait for it; without --until a cycle goes up to now",
        )


def position_of(run: RunContext, until: Until) -> Position:
    """Return the position before which everything lies that is wanted, and nothing else: each transaction is in or out.

    A moment ends in front of the first transaction of the log that committed after it, by the source's clock.
    """
    high = until if isinstance(until, Position) else _first_after(run, until)
    return min(high, run.captured())


def limit(run: RunContext, until: Until) -> Position:
    """Return the position where every target stops. Raises DdlReplError CTL-111 when a target is past it."""
    high = position_of(run, until)
    for target in ready_targets(run):
        state = run.target(target.name).state()
        found = {f"target {target.name} is at": state.lsn}
        for table_state in state.table_states.values():
            if table_state.snapshot is not None:
                found[f"{table_state.name} at target {target.name} was loaded as of"] = table_state.snapshot.high
        for what, at in found.items():
            if at > high:
                raise DdlReplError(
                    f"{what} {at}, past {until}",
                    code="CTL-111",
                    at=high,
                    hint="a target can't go back: choose a later moment or position, or leave --until out",
                )
    return high


def _first_after(run: RunContext, moment: datetime) -> Position:
    """Return the first captured transaction that committed later; where there is none, the end of what was captured."""
    last, read = int(moment.timestamp() * 1_000_000), partial(_transactions, run, run.epoch)
    starts = run.repository.segment_starts(run.channel.name)
    for start in starts[_surely_before(starts, read, last - CLOCK_MARGIN) :]:
        transactions = read(start)
        later = transactions.filter(pc.greater(transactions["committed"], last))
        if later.num_rows:
            return Position(pc.min(later["lsn"]).as_py())
    return run.captured()


def _transactions(run: RunContext, epoch: int, start: int) -> pa.Table:
    return run.trail.transactions(run.trail.segment(epoch, Position(start)))


def _surely_before(starts: Sequence[int], read: Callable[[int], pa.Table], moment: int) -> int:
    """Return how many of the first segments hold nothing that committed at the moment (in µs since 1970) or later.

    starts: of all of them. read: the transactions of one. Found by halving, so by a clock that only goes on.
    """
    low, high = 0, len(starts)
    while low < high:
        middle = probe = (low + high) // 2
        while not (found := read(starts[probe])).num_rows and probe > low:
            probe -= 1  # one without transactions tells nothing
        if not found.num_rows or pc.max(found["committed"]).as_py() < moment:
            low = middle + 1
        else:
            high = probe
    return low
