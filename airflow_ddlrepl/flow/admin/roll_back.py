"""A person takes tables of a lake back to snapshots of their own; the trail brings them up, and no source is read."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from airflow_ddlrepl.adapt.program.suspend import suspended
from airflow_ddlrepl.config.sections.policies import History
from airflow_ddlrepl.engines.abilities.snapshots import HasSnapshots, RolledBackTo, can_not_roll_back
from airflow_ddlrepl.engines.ability import able, find
from airflow_ddlrepl.engines.target_state import Applied, TargetState
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.apply.catch_up import catch_up
from airflow_ddlrepl.flow.apply.suspension import suspended_error
from airflow_ddlrepl.flow.refresh.requests import no_table_matches
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.fencing import claim
from airflow_ddlrepl.flow.run.isolation import FailureIsolation
from airflow_ddlrepl.flow.run.outbox import record
from airflow_ddlrepl.flow.run.results import Printable
from airflow_ddlrepl.flow.run.stage import stage
from airflow_ddlrepl.flow.stages import ROLL_BACK
from airflow_ddlrepl.flow.targets.readiness import ready_targets
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey, Position
from airflow_ddlrepl.model.table_state import Suspension, TableState, TableStatus
from airflow_ddlrepl.notation.name_pattern import any_matches


@dataclass(frozen=True)
class RolledBack(Printable):
    """This is what was rolled back: by table, the snapshot and what became of others' changes; and rows of the log."""

    tables: dict[str, dict[str, str]] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0


@stage(ROLL_BACK)
def roll_back(run: RunContext, patterns: Sequence[str], wanted: int | None = None) -> RolledBack:
    """Take tables back to a snapshot of their own, and bring them up from the trail to their target's position.

    patterns: `schema.table` at the source. wanted: the snapshot's id, for one table; None: the newest that the channel
    has left. Raises TargetError REF-102 where that is not certain to be right, INT-123 where a table stays suspended,
    Unsupported ADP-195 where no target has snapshots, ConfigError CFG-131 where no table matches.
    """
    started, total, isolation = time.monotonic(), Applied(), FailureIsolation()
    done: dict[str, dict[str, str]] = {}
    chosen = _chosen(run, patterns, wanted)
    for target, ids in chosen.items():
        for table_id in ids:
            with isolation.one(target):
                claim(run, target)
                record(run, target)
                name, told = _roll_back(run, target, table_id, wanted)
                done[name if len(chosen) == 1 else f"{target} {name}"] = told
                reach("roll_back.committed")
                _bring_up(run, target, table_id, total)
    isolation.end()
    return RolledBack(done, dict(total.rows), round(time.monotonic() - started, 2))


def _chosen(run: RunContext, patterns: Sequence[str], wanted: int | None) -> dict[str, list[int]]:
    """Return the ids of the tables that the patterns match, by target that has snapshots."""
    latest = run.repository.latest_revisions(run.channel.name)
    named = [i for i, one in latest.items() if one.table is not None and any_matches(patterns, one.table.name)]
    places = {one.name: run.target(one.name) for one in ready_targets(run)}
    found = {
        name: [i for i in named if i in place.state().table_states]
        for name, place in places.items()
        if find(place, HasSnapshots)
    }
    if not found:
        for place in places.values():
            able(place, HasSnapshots)
    if wanted is not None and len(named) > 1:
        other = latest[named[1]].table
        assert other is not None
        raise can_not_roll_back(other.name, f"snapshot {wanted} is of one table, and several match", "name one table")
    if not any(found.values()):
        raise no_table_matches(patterns)
    return found


def _roll_back(run: RunContext, target: str, table_id: int, wanted: int | None) -> tuple[str, dict[str, str]]:
    """Take one table back; return its name and what was done, as texts."""
    place, now = run.target(target), run.target(target).state()
    table = now.table_states[table_id]
    if why := _obstacle(run, target, table):
        raise can_not_roll_back(table.name, why)
    to = able(place, HasSnapshots).roll_back(table, wanted, partial(_after, run, now, table), run.fence)
    told = {"snapshot": str(to.snapshot), "position": str(_position(now, table, to))}
    if to.undone:
        told["removed, written by others"] = "; ".join(to.undone)
    if to.stay:
        told["stays, written by others before"] = "; ".join(to.stay)
    log.warning("target %s: %s is rolled back: %s", target, table.name, told)
    return str(table.name), told


def _obstacle(run: RunContext, target: str, table: TableState) -> str:
    """Return why a table can't be rolled back by its state; empty: its snapshots decide."""
    status = table.suspension.status if table.state is TableStatus.SUSPENDED and table.suspension else table.state
    columns = table.settings.columns
    if run.channel.target(target).history is not History.MIRROR or columns.time_key:
        return "it belongs to a history of changes (`history`, `time_key`)"
    if table.shape.partition is not None or table.shape.is_partitioned:
        return "it is a partition, or partitioned: these change together"
    if columns.discards:
        return "rows of it may be discarded (`coerce_error_policy: discard`), and these are not in its snapshots"
    if status is not TableStatus.LIVE or (table.suspension is not None and table.suspension.is_isolation):
        return f"it does not follow the source: it is {status}"
    return ""


def _after(run: RunContext, now: TargetState, table: TableState, to: RolledBackTo) -> TableState:
    """Return the state of a table that has the rows of a snapshot: suspended, where the log has to bring it up."""
    if to.position is None:
        return table
    _require_log(run, table, to.position)
    at, hint = LogKey(to.position, START_OF_TRANSACTION), "the next run brings it up from the log"
    why = Suspension(at, now.lsn, "TGT-118", f"{table.name} was rolled back to snapshot {to.snapshot}", hint)
    return replace(table, state=TableStatus.SUSPENDED, suspension=why)


def _position(now: TargetState, table: TableState, to: RolledBackTo) -> Position:
    if to.position is not None:
        return to.position
    return Position(table.suspension.at.lsn) if table.suspension is not None else now.lsn


def _require_log(run: RunContext, table: TableState, since: Position) -> None:
    """Raise TargetError REF-102 unless the trail still has everything that was captured from a position on."""
    retained = run.repository.retained_from(run.channel.name)
    if since < retained:
        raise can_not_roll_back(
            table.name, f"it needs the log from {since} on, and the trail has it from {retained} on"
        )


def _bring_up(run: RunContext, target: str, table_id: int, total: Applied) -> None:
    catch_up(run, target, total, [table_id])
    late = {one.table_id for one in suspended(run.target(target).state().table_states)}
    if table_id in late and (error := suspended_error(run, target)):
        raise error
