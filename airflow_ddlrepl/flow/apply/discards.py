"""A target does not take every change of the log; those that it discards are counted, with the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from airflow_ddlrepl.adapt.plan_model import Omission
from airflow_ddlrepl.adapt.program.program import NO_TABLE, Discarded, Program
from airflow_ddlrepl.engines.target_state import RecordAt, StagedSlice
from airflow_ddlrepl.flow.apply.pending_log import PendingLog
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey, Position
from airflow_ddlrepl.model.record import RefreshDeclined
from airflow_ddlrepl.model.settings.row_kind import IGNORED, RowKind
from airflow_ddlrepl.model.table_state import TableStatus
from airflow_ddlrepl.scope.client import client_at
from airflow_ddlrepl.scope.decide import ChangeKind, decide
from airflow_ddlrepl.trail.manifest import RowFile

OUTSIDE = "its row does not meet the condition (restrict)"
NOT_THERE = "the target has no such table"


@dataclass
class Found:
    """This is what a target discarded. counts: changes by table and reason.

    records: for the repository, that the tables may differ at the target from there on.
    """

    counts: Counter[str] = field(default_factory=Counter)
    records: list[RecordAt] = field(default_factory=list)

    def add(self, one: Discarded, count: int) -> None:
        """Count changes that a target does not take, and record that no refresh follows."""
        if count:
            self.counts[f"{one.name}: {one.why}"] += count
            self.record(one)

    def record(self, one: Discarded) -> None:
        """Record that the table may differ from there on."""
        declined = RefreshDeclined(one.table_id, one.why, Position(one.low.lsn))
        self.records.append(RecordAt(one.high, declined))


def discarded(
    run: RunContext,
    ahead: PendingLog,
    program: Program,
    files: Mapping[int, Sequence[RowFile]],
    known: Callable[[Discarded], frozenset[int]],
) -> Found:
    """Return the changes that a program discards, counted.

    files: of the program's stretch of the log, by table. known: commits whose rows a table's last refresh brought
    anyway.
    """
    found = Found()
    for one in program.discarded:
        if not one.is_captured:
            found.record(one)
            continue
        rows = one.kind is ChangeKind.DML
        found.add(one, sum(_rows(run, file, one, known(one)) for file in files.get(one.table_id, ())) if rows else 1)
    for step in program.steps:
        for part in step.plan.steps if step.plan else ():
            if part.omits is Omission.CHANGE and step.plan is not None:
                place = (step.table_id, ChangeKind.DDL, step.plan.name, step.key, step.key)
                if step.table_id != NO_TABLE:
                    found.add(Discarded(*place, part.policy), 1)
                    continue
                found.record(Discarded(*place, part.why))
                if ahead.replicat is not None and ahead.replicat.statement(step.event) is not None:
                    found.counts[f"{step.plan.name}: {part.policy}"] += 1  # capture has counted what Extract discards
    for one in _nowhere(run, ahead, program, files):
        count = sum(_rows(run, file, one, frozenset()) for file in files[one.table_id])
        if count:
            found.counts[f"{one.name}: {one.why}"] += count
    return found


def outside(slices: Sequence[StagedSlice]) -> Counter[str]:
    """Return how many changes are about rows that the target does not take (`restrict`), by table and reason."""
    found: Counter[str] = Counter()
    for one in slices:
        if one.piece.condition:
            count = sum(part.left_out.outside for parts in one.sections.values() for part in parts)
            found[f"{one.piece.source.name}: {OUTSIDE}"] += count
    return +found


def ignored(slices: Sequence[StagedSlice]) -> Found:
    """Return how many changes were left out because of their kind (`ignore`), by table and reason."""
    found = Found()
    for one in slices:
        counts: Counter[RowKind] = Counter()
        for parts in one.sections.values() if one.piece.settings.rows.ignore else ():
            for part in parts:
                counts.update(part.left_out.ignored)
        for kind, count in counts.items():
            piece = one.piece
            place = (piece.table_id, ChangeKind.DML, piece.source.name, piece.low, piece.high)
            found.add(Discarded(*place, IGNORED.format(kind)), count)
    return found


def _nowhere(
    run: RunContext, ahead: PendingLog, program: Program, files: Mapping[int, Sequence[RowFile]]
) -> Iterator[Discarded]:
    """Yield the tables with rows that the target does not have: it takes nothing of them, or did not create them."""
    client = client_at(run.channel.at(ahead.target))
    low, high = LogKey(ahead.low, START_OF_TRANSACTION), LogKey(program.high, START_OF_TRANSACTION)
    table_state = {*ahead.table_states, *program.table_states, *(step.table_id for step in program.steps if step.after)}
    late = {i for i, s in program.table_states.items() if s.state is TableStatus.SUSPENDED}
    for table_id, of_it in files.items():
        if (
            table_id not in table_state
            and table_id in ahead.builder.enrolled
            and not _comes_later(ahead, table_id, late)
        ):
            name = TableName(of_it[-1].schema, of_it[-1].name)
            decided = decide(client, name, ChangeKind.DML)
            if not decided.is_elsewhere:
                yield Discarded(table_id, ChangeKind.DML, name, low, high, decided.why or NOT_THERE)


def _comes_later(ahead: PendingLog, table_id: int, suspended: set[int]) -> bool:
    """Is it a partition that a suspended table has got meanwhile? The catch-up of that brings it."""
    table = ahead.builder.shape_at(table_id, LogKey.last_before(ahead.high)) if suspended else None
    while table is not None and table.partition is not None:
        if table.partition.of in suspended:
            return True
        table = ahead.builder.shape_at(table.partition.of, LogKey.last_before(ahead.high))
    return False


def _rows(run: RunContext, file: RowFile, one: Discarded, known: frozenset[int]) -> int:
    if not known and file.first >= one.low and file.last < one.high:
        return file.rows
    commits = run.trail.rows(file, one.low, one.high, ["lsn"])["lsn"]
    if not known:
        return len(commits)
    there = pc.is_in(commits, value_set=pa.array(sorted(known), commits.type))
    return len(commits) - int(pc.sum(there).as_py() or 0)
