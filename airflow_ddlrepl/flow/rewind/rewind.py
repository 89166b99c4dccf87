"""A rewind builds a channel's tables as they were earlier, in a replay; or a target goes back and on again.

Neither the source nor the positions of the live targets are touched. What a replay goes through is the log as it was
captured, with the shapes that were valid at each row. A live target goes back in a replay, too: that comes
up to the position of the target, and its tables replace the target's, one after the other.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from airflow_ddlrepl.adapt.shape.source_expressions import require_texts
from airflow_ddlrepl.errors import ConfigError, DdlReplError, Unsupported
from airflow_ddlrepl.flow.capture.log_continuity import require_source
from airflow_ddlrepl.flow.capture.recapture import reread_where_lost
from airflow_ddlrepl.flow.mapping.tables import seen_at
from airflow_ddlrepl.flow.rewind.preview import RewindPlan, as_last_loaded, preview_rewind, rewind_plan
from airflow_ddlrepl.flow.rewind.rebuild import replay
from airflow_ddlrepl.flow.rewind.route import RewindRoute, is_held, out_of_reach, rewind_route, strangers
from airflow_ddlrepl.flow.rewind.swap_in import as_target, left_out, position_of_target, reinstate
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.results import Printable
from airflow_ddlrepl.flow.run.stage import stage
from airflow_ddlrepl.flow.snapshots.archive import tables_at
from airflow_ddlrepl.flow.stages import REWIND
from airflow_ddlrepl.flow.targets.stop_position import Until, position_of, require_past
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.notation.name_pattern import is_selected
from airflow_ddlrepl.sql.expressions.allowed import user_functions
from airflow_ddlrepl.trail.loads import loads


@dataclass(frozen=True)
class Rewound(Printable):
    """This is what a rewind built: where it began and ended, rows loaded by table, rows merged, changes of shape.

    placed: the rows of the tables of a live target that were exchanged. not_built: tables that the place can't have.
    """

    target: str
    low: Position
    high: Position
    loaded: dict[str, int] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    changes: dict[str, int] = field(default_factory=dict)
    tables: tuple[str, ...] = ()
    placed: dict[str, int] = field(default_factory=dict)
    not_built: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True)
class _Errand:
    """An errand is where to build (`into`, in a run with the policies of the place that it is for), and the route.

    not_built: tables that are left out, by name, with the reason.
    """

    run: RunContext
    into: str
    way: RewindRoute
    not_built: dict[str, str]


def plan_rewind(run: RunContext, to: Until, into: str = "", patterns: Sequence[str] = ()) -> RewindPlan:
    """Return what `rewind` would do, and what it can't; change nothing. Raises what `rewind` raises at first."""
    into = _place(run, into)
    errand = _errand(run, to, into, patterns)
    found = rewind_plan(errand.run, errand.into, errand.way, preview_rewind(errand.run, errand.into, errand.way))
    found = replace(found, not_built=errand.not_built)
    return found if run.channel.is_replay(into) else replace(found, live=into)


@stage(REWIND)
def rewind(
    run: RunContext, to: Until, into: str = "", patterns: Sequence[str] = (), *, onward: bool = False
) -> Rewound:
    """Build tables as they were at a moment or position: into a replay, with nothing later.

    Into a live target (default: the only one): its tables are built in the channel's first replay as they were, go on
    from there to the position of the target by the log and the policies of today, and are put in their places.
    What an earlier rewind left in the replay is removed first. patterns: of the tables that are wanted; none: all.
    onward: a replay of the same tables that has not come so far goes on from where it is, instead.

    Raises DdlReplError CTL-110 (not captured yet), REW-101 (before the horizon), REW-102 (tables whose rows can't be
    known), REW-106 (the target has not come that far), ConfigError CFG-132 and CFG-133 (no such place), ControlStop
    where a policy stops; then no table of a live target was touched, and those of a replay are as they were at the
    position that the error names.
    """
    started = time.monotonic()
    into = _place(run, into)
    errand = reread_where_lost(run, lambda: _possible(run, to, into, patterns))
    way = errand.way
    done = replay(errand.run, errand.into, way, onward=onward)
    placed = {} if run.channel.is_replay(into) else reinstate(run, into, errand.into, way)
    names = tuple(sorted(map(str, way.names.values())))
    seconds = round(time.monotonic() - started, 2)
    counts = dict(done.applied.rows), dict(done.applied.changes)
    for name, why in errand.not_built.items():
        log.warning("%s is not built: %s", name, why)
    return Rewound(into, way.low, way.high, done.loaded, *counts, names, placed, errand.not_built, seconds)


def _place(run: RunContext, into: str) -> str:
    """Return the name of the replay or target that is meant."""
    targets = [target.name for target in run.channel.targets]
    if not into and len(targets) == 1:
        return targets[0]
    if into not in (known := [place.name for place in run.channel.targets_and_replays]):
        raise ConfigError(
            f"the channel has no target or replay {into}" if into else "the channel has several targets",
            code="CFG-132",
            hint=f"name one of {', '.join(known)}; `replays` in the channel file are places for rewinds alone",
        )
    return into


def _errand(run: RunContext, to: Until, into: str, patterns: Sequence[str]) -> _Errand:
    channel = run.channel
    if not channel.replays:
        raise ConfigError(
            "the channel has no replay: nowhere can its past be built",
            code="CFG-133",
            hint="name another database (or other schemas of the target's) under `replays` in the channel file",
        )
    require_past(run, to)
    moment = _captured(run, to)
    if channel.is_replay(into):
        high = _loaded(run, moment)
        return _errand_to(run, into, high, patterns, None, strangers(run, into, high))
    high = _loaded(run, position_of_target(run, into, moment))
    aside, others = as_target(run, into), left_out(run, high) | strangers(run, into, high)
    return _errand_to(aside, channel.replays[0].name, high, patterns, _loaded(run, moment), others)


def _errand_to(
    run: RunContext, into: str, high: Position, patterns: Sequence[str], base: Position | None, others: frozenset[int]
) -> _Errand:
    """Return the errand of building at a place what it can have. others: ids of tables that it is not about."""
    lacking = not_built(run, into, high)
    tables = tables_at(run, high)
    named = {tables[i].name: why for i, why in lacking.items() if i not in others}
    told = {str(name): why for name, why in named.items() if is_selected(name, patterns)}
    return _Errand(run, into, rewind_route(run, high, patterns, base, others | lacking.keys()), told)


def _possible(run: RunContext, to: Until, into: str, patterns: Sequence[str]) -> _Errand:
    """Return the errand; raise DdlReplError REW-102 where the rows of a table can't be known."""
    errand = _errand(run, to, into, patterns)
    _refuse_unsafe(errand.way, preview_rewind(errand.run, errand.into, errand.way).unsafe)
    for table_id, why in as_last_loaded(run, errand.way).items():
        log.warning("%s comes as it was last loaded: %s", errand.way.names[table_id], why)
    return errand


def _captured(run: RunContext, to: Until) -> Position:
    """Return the position that is meant. Raises DdlReplError CTL-110 or REW-101 when the trail does not reach it."""
    captured, high = run.captured(), position_of(run, to)
    is_short = to > captured if isinstance(to, Position) else high == captured and _has_more(run, captured)
    if is_short:
        raise DdlReplError(
            f"{to} is not captured yet: the trail ends at {captured}",
            code="CTL-110",
            hint="run `ddlrepl replicate` first",
        )
    if not is_held(run, to):
        raise out_of_reach(run, to, "it is before the beginning of the trail")
    return high


def _loaded(run: RunContext, high: Position) -> Position:
    """Return the position up to which loads hold no more than was captured: nothing else was committed for it."""
    if high < run.captured():
        return high
    require_source(run, high)
    ends = [load.snapshot.high for load in loads(run.trail, run.epoch) if load.position <= high]
    return max((end for end in ends if end > high and not run.source.has_changes(high, end)), default=high)


def _has_more(run: RunContext, captured: Position) -> bool:
    """Has something been committed that is not captured, and may be from before the moment that is meant?"""
    require_source(run, captured)
    return run.source.has_changes(captured, run.source.stable_end())


def _refuse_unsafe(way: RewindRoute, unsafe: Mapping[int, str]) -> None:
    if not unsafe:
        return
    reasons = "; ".join(f"{way.names[i]}: {why}" for i, why in unsafe.items())
    # Two tables have one name where it came to light later that the former one was gone.
    safe = ", ".join(sorted(map(str, {*way.names.values()} - {way.names[i] for i in unsafe}))) or "none"
    raise DdlReplError(
        f"the rows of some tables at {way.high} can't be known: {reasons}",
        code="REW-102",
        at=way.high,
        hint=f"choose another moment, or name the tables that are wanted with --table (these are known: {safe})",
    )


def not_built(run: RunContext, place: str, high: Position) -> Mapping[int, str]:
    """Return, by id, why the place can't have tables as they were at a position, with the partitions of such tables."""
    facts, tables = run.target(place).facts(), tables_at(run, high)
    found: dict[int, str] = {}
    for table_id, table in tables.items():
        try:
            strange = facts.strange(user_functions(table.partition_key))
            require_texts(seen_at(run.channel.at(place), table), facts.version, strange)
        except Unsupported as error:
            found[table_id] = error.message
    while more := {i: t for i, t in tables.items() if i not in found and t.partition and t.partition.of in found}:
        for i, table in more.items():
            found[i] = f"it is a partition of {table.partition.of_name if table.partition else ''}, which is not built"
    return found
