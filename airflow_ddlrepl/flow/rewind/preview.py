"""A preview goes along the route of a rewind without touching anything: what would be done, and what can't be known."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_ddlrepl.adapt.plan.dropped_table import aside_name
from airflow_ddlrepl.adapt.program.program import Program, ProgramStep
from airflow_ddlrepl.engines.abilities.rewinds import Names, Obstacles, Rewinds
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.engines.target import ServerFacts
from airflow_ddlrepl.errors import DdlReplError, TargetError
from airflow_ddlrepl.flow.apply.pending_log import Attempt, TargetAt, pending_log_at
from airflow_ddlrepl.flow.apply.transaction import reason
from airflow_ddlrepl.flow.capture.left_out import why_not_in_the_log
from airflow_ddlrepl.flow.mapping.abilities import require_able_of_tables
from airflow_ddlrepl.flow.mapping.initial_state import pending_state
from airflow_ddlrepl.flow.mapping.row_filters import condition_at
from airflow_ddlrepl.flow.mapping.tables import require_possible
from airflow_ddlrepl.flow.mapping.value_functions import transform_at
from airflow_ddlrepl.flow.rewind.route import RewindRoute
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.snapshots.archive import tables_at
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.visible import as_lines

KEEP = "safe (keep)"
ANY = "safe (keep or regenerate)"
UNSAFE = "unsafe"
STALE = "as last loaded"


@dataclass(frozen=True)
class RewindPreview:
    """A preview lists the schema changes on a rewind's route (steps), and the tables whose rows can't be known.

    unsafe: why the rows of some tables at the end can't be known, by id. stopped: the change that a policy stops at, if
    one does; what comes after it is not looked at.
    """

    steps: tuple[ProgramStep, ...]
    unsafe: Mapping[int, str]
    stopped: str = ""


@dataclass(frozen=True)
class RewindPlan:
    """A rewind plan shows a rewind before it is done. tables: verdict, rows to load, changes of shape, by table.

    segments, bytes: of the trail, that are read. removed: tables of an earlier rewind at the target.
    in_the_way: what is there and is not known to be an earlier rewind's: the rewind refuses to remove it.
    live: the target whose tables the rebuilt ones replace. not_built: tables that the place can't have, and why.
    """

    target: str
    low: Position
    high: Position
    tables: list[dict[str, Any]]
    segments: int
    bytes: int
    removed: list[str]
    stopped: str
    live: str = ""
    not_built: Mapping[str, str] = field(default_factory=dict)
    in_the_way: Obstacles | None = None

    @property
    def is_possible(self) -> bool:
        """Can the rewind be done?"""
        return self.refusal() is None

    def refusal(self) -> DdlReplError | None:
        """Return the error for which the rewind can't be done, or None.

        REW-105 for what is in the way, REW-102 for rows that can't be known.
        """
        if self.in_the_way is not None and self.in_the_way.found:
            return self.in_the_way.error()
        if unsafe := [f"{table['table']}: {table['reason']}" for table in self.tables if table["verdict"] == UNSAFE]:
            why = f"the rows of some tables at {self.high} can't be known: {'; '.join(unsafe)}"
            return DdlReplError(why, code="REW-102", at=self.high, hint="choose another moment, or fewer tables")
        return None

    def to_json(self) -> dict[str, Any]:
        """Return the plan for XCom and --json."""
        return {
            "target": self.target,
            "from": str(self.low),
            "to": str(self.high),
            "tables": self.tables,
            "segments": self.segments,
            "bytes": self.bytes,
            "removed": self.removed,
            "in_the_way": [f"{kind} {name}" for kind, name in self.in_the_way.found] if self.in_the_way else [],
            "stopped": self.stopped,
            "live": self.live,
            "not_built": dict(self.not_built),
        }

    def text(self) -> str:
        """Return the plan as text for people."""
        lines = [
            f"into {self.target}: the log from {self.low} to {self.high}, {self.segments} segments, {self.bytes} bytes",
            f"removed there first: {', '.join(self.removed) or 'nothing'}",
        ]
        if self.in_the_way is not None and self.in_the_way.found:
            lines += str(self.in_the_way.error()).splitlines()
        for table in self.tables:
            rows = "no load" if table["rows"] is None else f"{table['rows']} rows loaded at {table['loaded_at']}"
            lines.append(f"{table['table']}: {table['verdict']}, {rows}")
            lines += [f"  {table['reason']}"] if table["reason"] else []
            lines += [f"  {change}" for change in table["changes"]]
        lines += [f"{name}: not built: {why}" for name, why in self.not_built.items()]
        lines += [f"stops: {self.stopped}"] if self.stopped else []
        lines += [f"then put in the places of these tables at target {self.live}"] if self.live else []
        return as_lines(lines)


def preview_rewind(run: RunContext, into: str, way: RewindRoute) -> RewindPreview:
    """Return the plans of the whole route, as the replay will make them. Reads what `pending_log_at` reads."""
    present = able(run.target(into), Rewinds).facts_when_emptied()
    table_states = waiting_tables(run, into, way, present)
    low, steps = way.low, list[ProgramStep]()
    why = dict(way.unsafe)
    for stop in (*way.stops, None):
        high = way.high if stop is None else stop.load.position
        at = TargetAt(present, low, table_states)
        program = pending_log_at(run, into, at, attempt=Attempt(high, way.wanted)).program(high)
        steps += program.steps
        _explain(program, why)
        if program.stop is not None:
            return RewindPreview(tuple(steps), _with_relatives(way, _known_before(way)), _said(program))
        table_states, low = dict(program.table_states), high
        for archived in stop.tables if stop else ():
            before = table_states.get(archived.table.id)
            if before is not None and stop is not None and way.takes(stop.load, before):
                condition_at(run.channel.at(into), archived.table)
                transform_at(run.channel.at(into), archived.table)
                held = pending_state(run.channel.at(into), archived.table, present)
                table_states[before.table_id] = replace(held, state=TableStatus.LIVE, snapshot=stop.load.snapshot)
    return RewindPreview(tuple(steps), _unsafe(way, table_states, why))


def waiting_tables(run: RunContext, into: str, way: RewindRoute, facts: ServerFacts) -> dict[int, TableState]:
    """Return the tables where the route begins: each waits for its load.

    Raises what `require_possible` raises, and Unsupported where the file asks of a table what the place can't do.
    """
    require_able_of_tables(run.channel.at(into), way.shapes, run.target(into))
    require_possible(run.channel.at(into), way.before.values())
    return {i: pending_state(run.channel.at(into), table, facts) for i, table in way.before.items()}


def rewind_plan(run: RunContext, into: str, way: RewindRoute, found: RewindPreview) -> RewindPlan:
    """Return the plan of a rewind for people, made of its route and preview."""
    loads = {archived.table.id: (stop.load, archived) for stop in way.stops for archived in stop.tables}
    changes: dict[int, list[str]] = {}
    for step in found.steps:
        if step.plan is not None:
            texts = changes.setdefault(step.table_id, [])
            texts += [f"{Position(step.key.lsn)} {' '.join((step.event.statement or step.event.tag).split())}"]
    tables, stale = [], as_last_loaded(run, way)
    for table_id, name in sorted(way.names.items(), key=lambda item: item[1]):
        load, archived = loads.get(table_id, (None, None))
        tables.append(
            {
                "table": str(name),
                "verdict": _verdict(table_id, found.unsafe, stale, changes),
                "reason": found.unsafe.get(table_id, stale.get(table_id, "")),
                "rows": archived.rows if archived else None,
                "loaded_at": str(load.position) if load else None,
                "changes": changes.get(table_id, []),
            }
        )
    extent = run.repository.segment_extent(run.channel.name, way.low, way.high)
    there = _there(run, into)
    names = names_on_the_way(run, into, way)
    obstacles = able(run.target(into), Rewinds).rewind_area.obstacles(names, there)
    removed = sorted(map(str, there))
    return RewindPlan(into, way.low, way.high, tables, *extent, removed, found.stopped, in_the_way=obstacles)


def as_last_loaded(run: RunContext, way: RewindRoute) -> dict[int, str]:
    """Return the tables whose rows were not in the log at the end of the route, by id, and why: a load's are taken."""
    there = tables_at(run, way.high)
    found = {i: why_not_in_the_log(run, there[i]) for i in way.names if i in there}
    return {i: f"its rows were not in the log then: {why}" for i, why in found.items() if why}


def _verdict(table_id: int, unsafe: Container[int], stale: Container[int], changes: Container[int]) -> str:
    if table_id in unsafe:
        return UNSAFE
    if table_id in stale:
        return STALE
    return KEEP if table_id in changes else ANY


def _explain(program: Program, why: dict[int, str]) -> None:
    for table_id, table_state in program.table_states.items():
        if table_state.state is TableStatus.PENDING:
            why[table_id] = f"{reason(program, table_id)}, and it was not loaded yet"


def _unsafe(way: RewindRoute, table_states: Mapping[int, TableState], why: Mapping[int, str]) -> dict[int, str]:
    found = _known_before(way)
    for table_id in way.names:
        table_state = table_states.get(table_id)
        if table_state is None:
            found[table_id] = "no archived rows and no log contain it"
        elif table_state.state in (TableStatus.PENDING, TableStatus.NEW) and not table_state.shape.is_partitioned:
            reason = why.get(table_id, "its archived rows do not reach this position")
            found[table_id] = f"{reason}{_known_from(way, table_id)}"
    return _with_relatives(way, found)


def _known_before(way: RewindRoute) -> dict[int, str]:
    return {i: f"{reason}{_known_from(way, i)}" for i, reason in way.unsafe.items()}


def _with_relatives(way: RewindRoute, unsafe: Mapping[int, str]) -> dict[int, str]:
    """Return the unsafe tables with their partitioned tables and all partitions of these: they are unsafe together."""
    known = {way.root(i): f"it goes back together with {way.names[i]}, whose rows can't be known" for i in unsafe}
    return {i: known[way.root(i)] for i in way.names if way.root(i) in known} | dict(unsafe)


def _known_from(way: RewindRoute, table_id: int) -> str:
    at = way.known_from.get(table_id)
    return f" (its rows are known from {at} on)" if at else ""


def _said(program: Program) -> str:
    assert program.stop is not None
    whys = "; ".join(step.why for step in program.stop.steps)
    return f"at {program.high}, before a change of {program.stop.name}: {whys}"


def names_on_the_way(run: RunContext, into: str, way: RewindRoute, existing: Sequence[Table] = ()) -> Names:
    """Return the names of tables and types that a replay needs: those of all shapes on its route, and displaced ones.

    existing: what is there already, and may have to be renamed.
    """
    target_name = run.channel.at(into).target_name
    shapes = [*existing, *(shape.with_(name=target_name(shape.name)) for shape in way.shapes)]
    tables = {name for shape in shapes for name in (shape.name, aside_name(shape))}
    return tables, {TableName(of.schema, of.name) for shape in way.shapes for of in shape.types}


def _there(run: RunContext, into: str) -> list[TableName]:
    """Return the names of the tables that are removed first."""
    try:
        found = run.target(into).state()
    except TargetError:
        return []
    return [one.name for one in found.table_states.values() if one.state is not TableStatus.NEW]
