"""The status says how far the channel and its targets have come, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

from airflow_ddlrepl.adapt.program.program import NO_TABLE
from airflow_ddlrepl.adapt.program.suspend import needed_from
from airflow_ddlrepl.config.sections.places import Target
from airflow_ddlrepl.engines.abilities.of_source import RetainsLog
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.engines.source import LeftOut
from airflow_ddlrepl.engines.target_state import TargetState
from airflow_ddlrepl.errors import ConfigError, TrailError, Unreachable
from airflow_ddlrepl.flow.admin.disabled_clients import disabled_clients
from airflow_ddlrepl.flow.admin.discarded import conflict_counts, discarded_counts
from airflow_ddlrepl.flow.admin.left_at_source import left_at_source
from airflow_ddlrepl.flow.admin.source_status import source_lines, source_status
from airflow_ddlrepl.flow.admin.table_status import left_out_status, not_there, tables_status
from airflow_ddlrepl.flow.admin.trail_status import trail_status
from airflow_ddlrepl.flow.capture.left_out import not_in_the_log
from airflow_ddlrepl.flow.comparing.may_differ import may_differ
from airflow_ddlrepl.flow.health.failures import failure_lines, failures_json
from airflow_ddlrepl.flow.mapping.misplaced import with_misplaced
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.targets.apply_interval import NO_WAIT, wait_lines, wait_status
from airflow_ddlrepl.flow.targets.lag import Lag, lag_at, lag_of_capture, lag_text
from airflow_ddlrepl.flow.targets.readiness import what_is_missing
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table_state import TableStatus
from airflow_ddlrepl.repository.stored.rows import RunRow
from airflow_ddlrepl.streams.rules.function_use import FunctionUse, uses_in_runs
from airflow_ddlrepl.trail.loads import Load
from airflow_ddlrepl.visible import as_lines

T = TypeVar("T")
RETAINED = "      {segments} more are retained, {bytes} bytes, since {since}"
_AWAY: dict[str, Any] = {
    **dict.fromkeys(("position", "lag_bytes", "unreachable", "missing")),
    **Lag(None).to_json(),
    **NO_WAIT,
    "statements": [],
    "tables": [],
}


@dataclass(frozen=True)
class Status:
    """A status says how far a channel, its source and its targets are.

    captured: where the trail ends. source: where the source's log ends, not before it; None: it does not answer.
    lag_bytes: of log between them; None when that is not known.
    left_out: tables of the channel whose rows are not in the stream. targets, runs: as `to_json` returns them.
    A target's lag_seconds: the age, by the source's clock, of the oldest commit that it does not have, captured or not;
    0 when it has all of them, None when the source or the trail can't answer that (`lag_unknown_since`).
    unreachable: why a target does not answer; missing: why it is not prepared for the channel; then nothing else of it
    is known. source_unreachable: why the source does not answer. cut_over: where in the log and since when applications
    use the targets; None: they do not. disabled: clients of Streams that an error has stopped. apply: `apply_states`.
    functions: custom functions of Streams' clients, with calls. setup: `source_status`. failures: `failures_json`.
    clients, queues: of Streams, as `client_states` returns them.
    """

    channel: str
    captured: Position
    source: Position | None
    source_unreachable: str | None
    lag_bytes: int | None
    trail: dict[str, Any]
    targets: dict[str, dict[str, Any]]
    controls: int
    errors: int
    runs: list[dict[str, Any]]
    left_out: list[dict[str, Any]] = field(default_factory=list)
    cut_over: dict[str, str] | None = None
    disabled: list[str] = field(default_factory=list)
    apply: list[dict[str, Any]] = field(default_factory=list)
    functions: tuple[FunctionUse, ...] = ()
    setup: dict[str, Any] = field(default_factory=dict)
    failures: list[dict[str, Any]] = field(default_factory=list)
    clients: list[dict[str, Any]] = field(default_factory=list)
    queues: list[dict[str, Any]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the status for XCom and --json."""
        return {
            "channel": self.channel,
            "captured": str(self.captured),
            "source": None if self.source is None else str(self.source),
            "source_unreachable": self.source_unreachable,
            "lag_bytes": self.lag_bytes,
            "trail": self.trail,
            "targets": self.targets,
            "controls": self.controls,
            "errors": self.errors,
            "runs": self.runs,
            "left_out": self.left_out,
            "cut_over": self.cut_over,
            "disabled": self.disabled,
            "apply": self.apply,
            "functions": [asdict(use) for use in self.functions],
            "setup": self.setup,
            "failures": self.failures,
            "clients": self.clients,
            "queues": self.queues,
        }

    def text(self) -> str:
        """Return the status as text for people."""
        trail, more = self.trail, self.trail["retained"]
        lines = [
            f"channel {self.channel}",
            f"captured {self.captured}, {self._source_text()}",
            *source_lines(self.setup),
            f"trail: {trail['segments']} segments that are needed, {trail['bytes']} bytes"
            + (f", from {trail['from']} ({trail['since']}) on" if trail["segments"] else ""),
            *([RETAINED.format(**more)] if more["segments"] else []),
            *(f"trail damaged: {why}" for why in trail["damaged"]),
        ]
        if self.cut_over:
            lines.append("cut over since {since}, at {at}: no run writes at a target".format(**self.cut_over))
        if trail["horizon"]:
            lines.append(f"rewind: back to {trail['horizon']} ({trail['horizon_since']})")
        if trail["held_from"]:
            lines.append(f"the source holds its log from {trail['held_from']} on")
        for name, found in self.targets.items():
            if found["unreachable"]:
                lines.append(f"target {name} does not answer: {found['unreachable']}")
                continue
            if found["missing"]:
                lines.append(f"target {name} is not prepared: {found['missing']}")
                continue
            behind = f"{_bytes(found['lag_bytes'])}, {lag_text(found)}"
            lines.append(f"target {name} at {found['position']}: {behind}, {len(found['tables'])} tables")
            lines += wait_lines(found)
            lines += [f"  statements about no table are left out {why}" for why in found["statements"]]
            width = max((len(t["table"]) for t in found["tables"]), default=0)
            for table in found["tables"]:
                lines.append(f"  {table['table']:<{width}}  revision {_number(table)}  {_state(table)}")
                lines += [f"    may differ {why}" for why in table["may_differ"]]
                lines += [f"    unlike the source: {why}" for why in table["left_at_source"]]
                if table["discarded"]:
                    lines.append(f"    {table['discarded']} rows are discarded: ddlrepl errors")
                lines += [f"    conflicts: {count} x {what}" for what, count in table["conflicts"].items()]
        for run in self.runs:
            took = "" if run["seconds"] is None else f" in {run['seconds']} s"
            lines.append(f"last {run['stage']}: {run['status']}{took}, began {run['started']}, run {run['run']}")
        lines += [
            *_streams_lines(self.clients, self.apply),
            *map(str, self.functions),
            *self.disabled,
            *failure_lines(self.failures, self.disabled),
            f"controls {self.controls}, errors {self.errors}",
        ]
        return as_lines(lines)

    def _source_text(self) -> str:
        if self.source is None:
            return f"the source does not answer: {self.source_unreachable}"
        return f"source at {self.source} ({_bytes(self.lag_bytes)} ahead)"


def _bytes(size: int | None) -> str:
    return "nobody knows how much" if size is None else f"{size} bytes"


def _number(table: dict[str, Any]) -> str:
    return "-" if table["revision"] is None else str(table["revision"])


def _state(table: dict[str, Any]) -> str:
    since = f" since {table['since']}" if table["since"] else ""
    return f"{table['state']}{since}: {table['why']}" if table["why"] else str(table["state"])


def status(context: RunContext) -> Status:
    """Look at the repository, the trail, the source and every target; what can't be known is None, with the reason.

    `trail.damaged` says which file of the trail is missing or damaged. Raises ConfigError CFG-130 when the channel is
    not active.
    """
    name, source, before = context.channel.name, _source(context), context.captured()
    segments, runs = context.live_segments(), context.repository.runs(context.channel.name)
    uncaptured = lag_of_capture(context, before, source.log_end, source.clock)
    damaged: dict[str, None] = {}
    lag = partial(_unless_damaged, damaged, lag_at, context, segments, uncaptured, source.clock)
    targets = {one.name: _target(context, one, lag, source.not_in_the_log) for one in context.channel.targets}
    back = _unless_damaged(damaged, _horizon, context) if context.channel.rewind_horizon else None
    applied, clients, queues = _of_clients(context, runs, uncaptured, source)
    captured, end = _ends(context, source)
    ends = context.repository.stage_ends(name)
    ahead = None if source.unreachable else context.positions.distance(captured, end)
    return Status(
        name,
        captured,
        None if source.unreachable else end,
        source.unreachable,
        ahead,
        {
            **trail_status(context, segments, [one.needs for one in targets.values() if one.needs is not None], back),
            "held_from": source.held_from,
            "damaged": list(damaged),
        },
        {name: {**one.content, "lag_bytes": one.lag_bytes(context, end)} for name, one in targets.items()},
        len(context.repository.controls(name)),
        context.repository.error_count(name),
        _last_runs(runs),
        [
            {"table": str(one.name), "table_id": one.table_id, **left_out_status(one), **one.flags}
            for one in source.not_in_the_log
            if not one.is_reloaded
        ],
        _cut_over(context),
        disabled_clients(context.channel.clients, ends),
        applied,
        tuple(uses_in_runs(row.result for row in runs)),
        source.setup,
        failures_json(ends),
        _with_captured(clients, captured, ahead),
        queues,
    )


def _of_clients(
    context: RunContext, runs: Sequence[RunRow], uncaptured: Lag, source: _Source
) -> tuple[list[dict[str, Any]], ...]:
    """Return the states of apply processes, of all clients of Streams, and of their queues.

    A channel without clients imports nothing of Streams.
    """
    if context.channel.clients.is_empty:
        return [], [], []
    from airflow_ddlrepl.flow.admin.apply_lag import ApplyLag
    from airflow_ddlrepl.flow.admin.apply_status import apply_states
    from airflow_ddlrepl.flow.client_states.states import AtSource, client_states

    applied, positions = apply_states(context, runs, ApplyLag(context, uncaptured, source.clock))
    at_source = AtSource(uncaptured, source.clock, not source.unreachable)
    return applied, *client_states(context, at_source, positions)


def _horizon(context: RunContext) -> Load | None:
    from airflow_ddlrepl.flow.rewind.route import horizon

    return horizon(context)


def _with_captured(clients: list[dict[str, Any]], captured: Position, ahead: int | None) -> list[dict[str, Any]]:
    if not clients:
        return []
    from airflow_ddlrepl.flow.client_states.states import with_captured

    return with_captured(clients, captured, ahead)


def _streams_lines(clients: list[dict[str, Any]], applied: list[dict[str, Any]]) -> list[str]:
    """Return the lines of clients of Streams; a channel without any imports nothing of them."""
    if not (clients or applied):
        return []
    from airflow_ddlrepl.flow.admin.apply_status import apply_lines
    from airflow_ddlrepl.flow.client_states.lines import client_lines

    return [*client_lines(clients), *apply_lines(applied)]


def _ends(context: RunContext, source: _Source) -> tuple[Position, Position]:
    """Return up to where is captured, and where the source's log ends, not before it.

    They are read behind the targets: a run that goes on meanwhile puts none of these in front of what is captured.
    """
    captured, end = context.captured(), source.log_end
    if end is not None and end < captured:
        end = context.source.log_end()
    return captured, max(end or captured, captured)


@dataclass(frozen=True, slots=True)
class _AtTarget:
    """This is what the status tells of a target."""

    content: dict[str, Any]
    position: Position | None = None  # None: it is not known
    needs: Position | None = None  # from where on it needs the trail; None: it needs nothing of it

    def lag_bytes(self, context: RunContext, end: Position) -> int | None:
        """Return how much of the log up to its end the target lacks; None where its position is not known."""
        return None if self.position is None else context.positions.distance(self.position, end)


def _cut_over(context: RunContext) -> dict[str, str] | None:
    found = context.repository.cut_over_at(context.channel.name)
    return {"at": str(found[0]), "since": found[1].isoformat(timespec="seconds")} if found else None


@dataclass(frozen=True)
class _Source:
    """What the source answers. unreachable: why it does not answer; clock is this machine's then."""

    log_end: Position | None
    clock: datetime
    held_from: str | None = None
    not_in_the_log: tuple[LeftOut, ...] = ()
    unreachable: str | None = None
    setup: dict[str, Any] = field(default_factory=dict)


def _source(context: RunContext) -> _Source:
    try:
        return _Source(
            context.source.log_end(),
            context.source.clock(),
            _held_from(context),
            tuple(not_in_the_log(context)),
            setup=source_status(context),
        )
    except Unreachable as error:
        log.error("the source: %s", error)
        return _Source(None, datetime.now(UTC), unreachable=error.message)


def _target(
    context: RunContext,
    target: Target,
    lag: Callable[[Position], Lag | None],
    aside: Sequence[LeftOut],
) -> _AtTarget:
    """Return a target's status, or why it is not known. aside: tables that are not in the stream."""
    name = context.channel.name
    try:
        if missing := what_is_missing(context, target.name):
            return _AtTarget({**_AWAY, "missing": missing})
        found = _without_removed(context, target.name, context.target(target.name).state())
    except (ConfigError, Unreachable) as error:
        log.error("%s", error)
        return _AtTarget({**_AWAY, "unreachable": error.message}, needs=Position(0))
    latest = context.repository.latest_revisions(name)
    here = (context, target.name)
    lacks = (may_differ(*here), discarded_counts(*here), conflict_counts(*here))
    without = left_at_source(*here, found.table_states.values(), latest)
    content = {
        **_AWAY,
        "position": str(found.lsn),
        **(lag(found.lsn) or Lag(None)).to_json(),
        **wait_status(context, target.name),
        "statements": list(lacks[0].get(NO_TABLE, ())),
        "tables": with_misplaced(
            context.channel.at(target.name),
            found.table_states,
            latest,
            [
                *tables_status(found, latest, lacks, without, aside),
                *not_there(context.channel.at(target.name), found, aside),
            ],
        ),
    }
    return _AtTarget(content, found.lsn, needed_from(found.table_states, found.lsn))


def _without_removed(context: RunContext, target: str, found: TargetState) -> TargetState:
    """Return the state without tables that were kept when the source dropped them, and that somebody has removed."""
    kept = {number: one for number, one in found.table_states.items() if one.state is TableStatus.ORPHANED}
    if not kept:
        return found
    facts = context.target(target).facts()
    gone = {number for number, one in kept.items() if facts.table(one.name) is None}
    return replace(found, table_states={i: one for i, one in found.table_states.items() if i not in gone})


def _unless_damaged(damaged: dict[str, None], ask: Callable[..., T], *about: Any, **more: Any) -> T | None:
    """Return the answer; where the trail lacks a file for it, note that in `damaged` and return None."""
    try:
        return ask(*about, **more)
    except TrailError as error:
        damaged[f"{error.code}: {error.message}"] = None
        return None


def _held_from(context: RunContext) -> str | None:
    """Return the position from which on the source holds log that is captured."""
    since = able(context.source, RetainsLog).retained_log.held_from() if context.channel.hold_log else None
    return str(since) if since is not None else None


def _last_runs(runs: list[RunRow]) -> list[dict[str, Any]]:
    """Return the newest run of each stage."""
    newest = {row.stage: row for row in reversed(runs)}
    return [
        {
            "stage": row.stage,
            "run": row.run_id,
            "status": row.status.value,
            "started": row.started.isoformat(timespec="seconds"),
            "seconds": round((row.ended - row.started).total_seconds(), 1) if row.ended else None,
        }
        for row in sorted(newest.values(), key=lambda row: row.started)
    ]
