"""Rewind: build the tables of a channel as they were at an earlier moment, into a target made for that.

The live targets, their positions and the source are not touched. What the replay goes through is the log as it was
captured, with the shapes that were valid where each row stands.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.adapt.timeline import Standing
from airflow_ddlrepl.engines.postgres import state
from airflow_ddlrepl.engines.postgres.apply import Applied
from airflow_ddlrepl.engines.postgres.chunk import Kept, LoadTask
from airflow_ddlrepl.engines.postgres.connect import session
from airflow_ddlrepl.engines.postgres.exported import PAGE_BYTES, Exported
from airflow_ddlrepl.engines.postgres.present import Present
from airflow_ddlrepl.engines.postgres.replayed import clear, remember, require_free
from airflow_ddlrepl.errors import CannotAdapt, ConfigError, DdlReplError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.applying import stopped
from airflow_ddlrepl.flow.bringing import bring, to_the_end
from airflow_ddlrepl.flow.claiming import claim
from airflow_ddlrepl.flow.course import Course, Stop, course
from airflow_ddlrepl.flow.cycle import Cycle
from airflow_ddlrepl.flow.recording import record
from airflow_ddlrepl.flow.refreshing import Refresh
from airflow_ddlrepl.flow.results import Printable
from airflow_ddlrepl.flow.stages import stage
from airflow_ddlrepl.flow.survey import RewindPlanned, planned, survey, waiting_tables
from airflow_ddlrepl.flow.until import Until, position_of, require_past
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Lsn
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.trail.loads import LoadedTable

if TYPE_CHECKING:
    from airflow_ddlrepl.engines.postgres.connect import Connection


@dataclass(frozen=True)
class Rewound(Printable):
    """What a rewind built: where it began and ended, rows loaded by table, rows merged, changes of shape."""

    target: str
    low: Lsn
    high: Lsn
    loaded: dict[str, int] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    changes: dict[str, int] = field(default_factory=dict)
    tables: tuple[str, ...] = ()
    seconds: float = 0.0


def plan_rewind(cycle: Cycle, to: Until, into: str, patterns: Sequence[str] = ()) -> RewindPlanned:
    """What `rewind` would do, and what it can't. Changes nothing. Raises what `rewind` raises before it begins."""
    way = _course(cycle, to, into, patterns)
    return planned(cycle, into, way, survey(cycle, into, way))


@stage("rewind")
def rewind(cycle: Cycle, to: Until, into: str, patterns: Sequence[str] = ()) -> Rewound:
    """Fill the replay target `into` with the tables as they were at a moment or position, and nothing later.

    What an earlier rewind left there is removed first. patterns: of the tables that are wanted; all without any.
    Raises DdlReplError CTL-110 (not captured yet), REW-101 (before the horizon), REW-102 (tables whose rows at that
    position can't be known), ConfigError CFG-132 (no such replay), ControlStop where a policy stops; then nothing that
    is wrong stands there: the tables are as they were at the position that the error names.
    """
    started = time.monotonic()
    way = _course(cycle, to, into, patterns)
    foreseen = survey(cycle, into, way)
    _refuse_unsafe(way, foreseen.unsafe)
    _begin(cycle, into, way)
    total = Applied()
    loaded: dict[str, int] = {}
    for stop in way.stops:
        _bring(cycle, into, stop.load.position, way, total)
        for standing, count in _restore(cycle, into, stop):
            loaded[str(standing.name)] = count
    _bring(cycle, into, way.high, way, total)
    names = tuple(sorted(map(str, way.names.values())))
    seconds = round(time.monotonic() - started, 2)
    return Rewound(into, way.low, way.high, loaded, dict(total.rows), dict(total.changes), names, seconds)


def _course(cycle: Cycle, to: Until, into: str, patterns: Sequence[str]) -> Course:
    if not cycle.channel.is_replay(into):
        names = ", ".join(replay.name for replay in cycle.channel.replays) or "none"
        raise ConfigError(
            f"the channel has no replay {into}",
            code="CFG-132",
            hint=f"`replays` in the channel file names where a rewind may build its tables; there: {names}",
        )
    require_past(cycle, to)
    captured, high = cycle.captured(), position_of(cycle, to)
    is_short = to > captured if isinstance(to, Lsn) else high == captured and _has_more(cycle, captured)
    if is_short:
        raise DdlReplError(
            f"{to} is not captured yet: the trail ends at {captured}",
            code="CTL-110",
            hint="run `ddlrepl replicate` first",
        )
    return course(cycle, high, patterns)


def _has_more(cycle: Cycle, captured: Lsn) -> bool:
    """Has something been committed that is not captured? Maybe before a moment that nothing captured is past."""
    cycle.source.check(captured)
    return cycle.source.has_news(captured, cycle.source.flush_position())


def _refuse_unsafe(way: Course, unsafe: Mapping[int, str]) -> None:
    if not unsafe:
        return
    told = "; ".join(f"{way.names[i]}: {why}" for i, why in unsafe.items())
    safe = ", ".join(sorted(str(name) for i, name in way.names.items() if i not in unsafe)) or "none"
    raise DdlReplError(
        f"the rows of some tables at {way.high} can't be known: {told}",
        code="REW-102",
        at=way.high,
        hint=f"choose another moment, or name the tables that are wanted with --table (these are known: {safe})",
    )


def _begin(cycle: Cycle, into: str, way: Course) -> None:
    """The target is empty, stands where the course begins, and its tables wait for their loads."""
    holder = cycle.channel.holder(into)
    with session(cycle.target_dsn(into)) as connection:
        state.prepare(connection, holder, way.low, cycle.epoch, cycle.token)
        found = state.read_state(connection, holder)
        claim(cycle, into, found.epoch)
        waiting = waiting_tables(cycle, into, way, Present(connection))
        cycle.check_lock()
        with connection.transaction(), connection.cursor() as cursor:
            state.hold(cursor, holder, epoch=found.epoch, token=cycle.token)
            clear(cursor, holder, found.standings.values())
            tables = {cycle.channel.target(into).target_name(shape.name) for shape in way.shapes}
            types = {TableName(of.schema, of.name) for shape in way.shapes for of in shape.types}
            require_free(cursor, tables, types)
            remember(cursor, holder, types)
            state.write_standings(cursor, holder, waiting, found.standings.keys() - waiting.keys())
            state.restart(connection, holder, way.low, cycle.epoch, cycle.token)
    cycle.repository.forget_target(cycle.channel.name, cycle.token, into)
    reach("rewind.begun")


def _bring(cycle: Cycle, into: str, high: Lsn, way: Course, total: Applied) -> None:
    program = bring(cycle, into, to_the_end, total, high, way.wanted)
    if (stop := stopped(cycle, into, program)) is not None:
        raise stop


def _restore(cycle: Cycle, into: str, stop: Stop) -> list[tuple[Standing, int]]:
    """The tables of a load get its rows."""
    holder = cycle.channel.holder(into)
    with session(cycle.target_dsn(into)) as connection:
        now = state.read_state(connection, holder)
        due = {kept.table.id: kept for kept in stop.tables if kept.table.id in now.standings}
        pages = {i: -(-sum(b.size for files in kept.chunks for b in files) // PAGE_BYTES) for i, kept in due.items()}
        tables = tuple(kept.table for kept in due.values())
        source = Exported("", stop.load.snapshot, tables, pages)
        done = _Restore(cycle, into, connection, source, now.standings, due).run()
    record(cycle, into)
    reach("rewind.restored")
    return done


class _Restore(Refresh):
    """A refresh whose rows come from the trail."""

    def __init__(
        self,
        cycle: Cycle,
        target: str,
        connection: Connection[Any],
        source: Exported,
        standings: Mapping[int, Standing],
        kept: Mapping[int, LoadedTable],
    ) -> None:
        super().__init__(cycle, target, connection, source, standings)
        self.kept = kept

    def work(self, tables: Sequence[Table]) -> list[tuple[Table, int, LoadTask]]:
        """Each chunk as it was kept."""
        found = []
        for table in tables:
            kept = self.kept[table.id]
            columns = self._columns(table, kept)
            share = -(-self.source.pages[table.id] // max(1, len(kept.chunks)))
            for number, files in enumerate(kept.chunks):
                task = LoadTask(
                    source_dsn="",
                    target_dsn=self.cycle.target_dsn(self.target.name),
                    snapshot="",
                    table=table.name,
                    shadow=self.shadow(table),
                    columns=columns,
                    low_page=0,
                    high_page=None,
                    token=str(self.cycle.token),
                    chunk=f"{self.holder}/{table.id}/{number}",
                    binary=kept.is_binary,
                    kept=Kept(self.cycle.channel.trail, self.cycle.channel.name, files),
                )
                found.append((table, share, task))
        return found

    def _columns(self, table: Table, kept: LoadedTable) -> tuple[tuple[str, str], ...]:
        """The kept columns and what they are called here. Raises CannotAdapt REW-103 where one does not fit."""
        theirs = {column.name: column for column in table.columns}
        ours = {column.id: column for column in self.after[table.id].shape.columns}
        found = []
        for name in kept.columns:
            column = ours.get(theirs[name].id)
            if column is None or column.generated or (kept.is_binary and column.type.text != theirs[name].type.text):
                raise CannotAdapt(
                    f"column {name} can't take the rows that were kept of type {theirs[name].type.text}",
                    code="REW-103",
                    table=table.name,
                    hint=f"the replay {self.target.name} lacks what the type needs (an extension?): create it there",
                )
            found.append((name, column.name))
        return tuple(found)
