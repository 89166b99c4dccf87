"""Apply brings one target through a stretch of the log, rows and schema changes in their order.

What has to be done is decided first (adapt.program); rows are netted and staged by parallel tasks
outside of any transaction; then one target transaction merges, alters and moves the position.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

from airflow_ddlrepl.adapt.plan.verdicts import JOINS
from airflow_ddlrepl.adapt.plan_model import Omission, StepKind, TablePlan
from airflow_ddlrepl.adapt.program.program import NO_TABLE, Discarded, Program, ProgramStep, Slice
from airflow_ddlrepl.capture.enroll import valid_at
from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.engines import engine, source_engine
from airflow_ddlrepl.engines.abilities.discarded_rows import DiscardsRows
from airflow_ddlrepl.engines.abilities.of_target import AppliesTogether
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.engines.staging import bucket_count, stage_all
from airflow_ddlrepl.engines.target_state import TRUNCATED, Applied, RecordAt, StagedSlice, TargetWork
from airflow_ddlrepl.errors import ControlStop
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.apply.discards import discarded, ignored, outside
from airflow_ddlrepl.flow.apply.pending_log import PendingLog
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.disk_space import needing
from airflow_ddlrepl.flow.run.outbox import record
from airflow_ddlrepl.flow.run.shared_storage import seen_by_tasks
from airflow_ddlrepl.integrate.stage_task import (
    StageTask,
    buckets_of,
    carrying,
    groups,
    most_buckets,
    sections,
    tasks_of_one_merge,
)
from airflow_ddlrepl.mapping.values import transform_of
from airflow_ddlrepl.model.change import EventKind
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey, Position
from airflow_ddlrepl.model.record import (
    FIRST_LOAD,
    NO_STATEMENT,
    RefreshDeclined,
    RefreshDone,
    RefreshRequested,
    StepApplied,
)
from airflow_ddlrepl.model.table_state import TableStatus
from airflow_ddlrepl.ports.change_values import ChangeValues
from airflow_ddlrepl.trail.manifest import Blob, RowFile
from airflow_ddlrepl.trail.segments import commits

STATEMENT_LENGTH = 4000


def apply(context: RunContext, ahead: PendingLog, program: Program) -> Applied:
    """Run a program at its target: stage its rows, then everything in one transaction with the position."""
    (applied,) = apply_together(context, [(ahead, program)])
    return applied


def apply_together(context: RunContext, programs: Sequence[tuple[PendingLog, Program]]) -> list[Applied]:
    """Run programs of holders of one target's database, which all are seen in one moment."""
    context.check_lock()
    for ahead, _ in programs:
        context.target(ahead.target).sweep(context.token)
    prepared = [_prepared(context, ahead, program) for ahead, program in programs]
    reach("integrate.staged")
    context.check_lock()
    target, works = context.target(programs[0][0].target), [work for work, _ in prepared]
    if len(works) == 1:
        done = [target.apply(works[0].program, works[0].slices, works[0].records, context.fence)]
    else:
        done = able(target, AppliesTogether).apply_together(works, context.fence)
    for (ahead, _), (_, left), applied in zip(programs, prepared, done, strict=True):
        applied.discarded += left
        _tell(context, ahead.target, applied)
    return done


def _prepared(context: RunContext, ahead: PendingLog, program: Program) -> tuple[TargetWork, Counter[str]]:
    """Stage the rows of a program; return what its target is to apply, and how much of the log it does not take."""
    files = _files_by_table(context, ahead, program)
    staged = _stage(context, ahead, program, files)
    left = discarded(context, ahead, program, files, partial(_skipped, context, ahead))
    kinds = ignored(staged)
    records = [*_records(context, program), *left.records, *kinds.records, *_put_aside(ahead, program)]
    holder = context.target(ahead.target).holder
    return TargetWork(holder, program, staged, records), left.counts + kinds.counts + outside(staged)


def _tell(context: RunContext, target: str, applied: Applied) -> None:
    """Record and log what was applied at a target."""
    applied.executed = [replace(one, target=target) for one in applied.executed]
    reach("integrate.committed")
    for what, count in applied.conflicts.items():
        log.info("target %s: conflicts: %d x %s", target, count, what)
    for one in applied.executed:
        seen = replace(one, sql=shown(one.sql))
        log.info("target %s: %s at %s: %s", seen.target, seen.table, seen.at, seen.sql)
        context.executed.append(seen)
    record(context, target)


def shown(statement: str) -> str:
    """Return a statement as results and logs show it: without passwords, and cut where it is long."""
    return redact(statement)[:STATEMENT_LENGTH]


def raise_stop(context: RunContext, target: str, program: Program) -> None:
    """Raise an error when the program ended before a change that a person has to decide on, and record a breakpoint.

    Raises ControlStop CTL-101 for a breakpoint, CannotAdapt for a change that was refused.
    """
    if program.stop is None:
        return
    if refusal := program.stop.refusal(program.high):
        raise refusal
    control = next(s for s in program.stop.steps if s.kind is StepKind.CONTROL)
    key = LogKey(program.high, 0)
    row = context.repository.add_control(context.channel.name, context.token, target, key, control.why, control.policy)
    raise ControlStop(
        f"target {target} stops before a change of {program.stop.name}: {control.why}",
        code="CTL-101",
        table=program.stop.name,
        at=program.high,
        hint="everything before it is applied. Solve the problem, then remove the control: in Airflow the DAG"
        f" ddlrepl__{context.channel.name}__controls, or `ddlrepl controls remove CHANNEL.yaml {row.id}`",
    )


def _stage(
    context: RunContext, ahead: PendingLog, program: Program, files: Mapping[int, Sequence[RowFile]]
) -> list[StagedSlice]:
    tasks: list[StageTask] = []
    places: list[tuple[int, int]] = []
    parallelism = context.runner.parallelism
    of_source = cache(lambda: source_engine(context.channel))
    for number, piece in enumerate(program.slices):
        own = files.get(piece.table_id)
        if own is None:  # of thousands of tables most have no rows
            continue
        for section, task in enumerate(_tasks(context, ahead, piece, own, number, of_source().values)):
            if asking := piece.asking_for_old_rows:
                task = replace(task, whole_rows=of_source().whole_rows_hint(piece.source, asking))
            buckets = buckets_of(task, bucket_count(task, _most_tasks(context, ahead, task.files)))
            tasks += buckets
            places += [(number, section)] * len(buckets)
    parts = groups(tasks, parallelism)
    work = [carrying(tasks, part) for part in parts]
    size = sum(file.size for task in tasks for file in task.files)
    blobs = [blob for task in tasks for blob in (*(file.blob for file in task.files), *task.transactions)]
    with needing(size, f"of row files to stage at target {ahead.target}"), seen_by_tasks(context.trail, blobs):
        results = context.runner.map(stage_all, work, f"integrate into {ahead.target}", size=size)
    done = {i: one for part, staged in zip(parts, results, strict=True) for i, one in zip(part, staged, strict=True)}
    found: dict[int, StagedSlice] = {}
    for place, (number, section) in enumerate(places):
        staged = done[place]
        whole = found.setdefault(number, StagedSlice(program.slices[number], {}))
        whole.sections.setdefault(section, []).append(staged)
    return list(found.values())


def _most_tasks(context: RunContext, ahead: PendingLog, files: Sequence[RowFile]) -> int:
    """Return into how many tasks rows of a table may be split that are merged together.

    More of them than run at once net more rows, so that fewer are merged; but each reads all of these rows.
    """
    tasks = tasks_of_one_merge(files, context.runner.parallelism)
    if context.target(ahead.target).capabilities.merges_at_once:
        return tasks
    return min(tasks, 2 * context.runner.parallelism)


def _tasks(
    context: RunContext,
    ahead: PendingLog,
    piece: Slice,
    files: Sequence[RowFile],
    number: int,
    values: ChangeValues,
) -> Iterator[StageTask]:
    wanted = sorted((f for f in files if f.first < piece.high and f.last >= piece.low), key=lambda f: f.first)
    target = context.target(ahead.target)
    types = engine(target.location).types
    buckets = most_buckets(piece.source, wanted, _most_tasks(context, ahead, wanted), types) if wanted else 1
    transform = transform_of(piece.settings.values, piece.whole or piece.source)
    own = piece.settings.columns
    discards = able(target, DiscardsRows) if own.discards and wanted else None
    discarded = discards.discarded_rows.keys(piece.table_id) if discards is not None else frozenset()
    for section, run in enumerate(sections(wanted, buckets)):
        name = f"{ahead.target}_{piece.table_id}_{ahead.low:x}_{number}_{section}"
        yield StageTask(
            dsn=target.location,
            trail_url=context.channel.trail,
            channel=context.channel.name,
            files=run,
            low=piece.low,
            high=piece.high,
            table=piece.source,
            target=piece.target,
            target_name=piece.name,
            stage_name=target.staging_name(context.token, name),
            values=values,
            skip_lsns=_skipped(context, ahead, piece),
            condition=piece.condition,
            whole=piece.whole if piece.condition or transform else None,
            transform=transform,
            token=context.token,
            transactions=_transactions(context, ahead, piece),
            own=own,
            ignored=frozenset(piece.settings.rows.ignore),
            is_resilient=piece.is_resilient,
            conflicts=None if piece.is_loaded else piece.settings.conflicts,
            discarded=discarded,
        )


def _transactions(context: RunContext, ahead: PendingLog, piece: Slice) -> tuple[Blob, ...]:
    """Return the files that list the transactions of a slice, where a column of the target takes their values."""
    if not any(column.extra for column in piece.target.columns):
        return ()
    rows = context.repository.segments(context.channel.name, ahead.low, piece.high.behind)
    parts = (part for row in rows for part in context.trail.segment(row.epoch, row.low).parts)
    return tuple(part.transactions for part in parts if part.transactions is not None)


def _skipped(context: RunContext, ahead: PendingLog, piece: Slice | Discarded) -> frozenset[int]:
    """Return the commit positions of transactions that the table's last refresh already contains."""
    table_state = ahead.table_states.get(piece.table_id)
    if table_state is None or table_state.snapshot is None or piece.low.lsn >= table_state.snapshot.high:
        return frozenset()
    snapshot = table_state.snapshot
    if snapshot not in ahead.seen:  # thousands of tables may share one
        found: set[int] = set()
        for row in context.repository.segments(context.channel.name, ahead.low, min(ahead.high, snapshot.high)):
            found |= {lsn for lsn, by in commits(context.transactions(row)) if snapshot.sees(lsn, by)}
        ahead.seen[snapshot] = frozenset(found)
    return ahead.seen[snapshot]


def _files_by_table(context: RunContext, ahead: PendingLog, program: Program) -> dict[int, list[RowFile]]:
    found: dict[int, list[RowFile]] = {}
    for row in context.repository.segments(context.channel.name, ahead.low, program.high):
        for file in context.trail.segment(row.epoch, row.low).files() if row.rows else ():
            found.setdefault(file.table_id, []).append(file)
    return found


def _records(context: RunContext, program: Program) -> list[RecordAt]:
    """Return the ledger's rows, and the refreshes that the program asks for or makes needless."""
    history = context.repository.histories(context.channel.name) if program.steps else {}
    found: list[RecordAt] = []
    for step in program.steps:
        revision = valid_at(history.get(step.table_id, ()), step.key)
        if revision is None or revision.key != step.key:  # the statement made none: nothing leads to one
            continue
        found += (RecordAt(step.key, one) for one in _done(step, revision.number))
    found += _declined(program)
    there = {i: one for i, one in program.table_states.items() if one.state is not TableStatus.ORPHANED}
    last = {step.table_id: step.key for step in program.steps if step.table_id != NO_TABLE}
    found += [RecordAt(key, RefreshDone(table_id, None)) for table_id, key in last.items() if table_id not in there]
    joining = {step.table_id for step in program.steps if step.before is None and step.after and not step.plan}
    for i in sorted(joining & there.keys()):
        refused = there[i].suspension
        why = JOINS.why if refused is None else str(refused)
        found.append(RecordAt(last[i], RefreshRequested(i, why, program.high, how=FIRST_LOAD)))
    for i, table_state in there.items():
        if not table_state.waits_for_refresh:
            continue
        asking = _refresh_step(program, i)
        if (table_state.state is TableStatus.PENDING and i not in joining) or (table_state.awaits_rows and asking):
            key = asking.key if asking else LogKey(program.high, START_OF_TRANSACTION)
            found.append(RecordAt(key, RefreshRequested(i, reason(program, i), program.high, how=_how(program, i))))
    return found


def _done(step: ProgramStep, revision: int) -> Iterator[StepApplied]:
    """Yield what became of a change at the target: each statement that ran, and what was left as it is, and why."""
    if step.plan is None:
        return
    for number, part in enumerate(step.plan.steps):
        if part.kind is StepKind.SQL:
            sql = "\n".join(part.sql)
            sql_hash = hashlib.sha256(sql.encode()).hexdigest()
            yield StepApplied(step.table_id, revision, number, sql_hash, part.why, shown(sql))
        elif part.kind is StepKind.WARN:
            yield StepApplied(step.table_id, revision, number, NO_STATEMENT, part.why)
    if not step.plan.steps:
        why = f"{step.plan.target} stays at the target with its rows" if step.plan.is_orphaned else "nothing to do"
        yield StepApplied(step.table_id, revision, 0, NO_STATEMENT, why)


def _put_aside(ahead: PendingLog, program: Program) -> Iterator[RecordAt]:
    """Yield records of the statements that DDLERROR has discarded in the program."""
    places = {step.key for step in program.steps}
    known = ahead.replicat.put_aside if ahead.replicat is not None else {}
    yield from (RecordAt(key, one) for key, one in known.items() if key in places)


def _declined(program: Program) -> Iterator[RecordAt]:
    """Yield records of changes after which rows may differ: a policy says WARNING, or a TRUNCATE is left out."""
    for step in program.steps:
        if step.event.kind is EventKind.NO_TRUNCATE:
            yield RecordAt(step.key, RefreshDeclined(step.table_id, TRUNCATED, Position(step.key.lsn)))
        for part in step.plan.steps if step.plan and not step.plan.needs_refresh else ():
            if part.omits is Omission.ROWS:
                why = f"{part.policy}: {part.why}"
                yield RecordAt(step.key, RefreshDeclined(step.table_id, why, Position(step.key.lsn)))


def reason(program: Program, table_id: int) -> str:
    """Return why a table has to be loaded again."""
    step = _refresh_step(program, table_id)
    if step is not None and step.plan is not None:
        return next(s.why for s in step.plan.steps if s.kind is StepKind.REFRESH)
    suspension = program.table_states[table_id].suspension if table_id in program.table_states else None
    if suspension is not None:
        return str(suspension)
    layout = step.event.layout if step else None
    return str(layout["why"]) if layout else "rows of a layout that no revision explains"


def _how(program: Program, table_id: int) -> str:
    """Return how to load a table: one that came into the log late may hold rows that the target never had."""
    step = _refresh_step(program, table_id)
    if step is None:
        return ""
    is_anew = step.before is None or (step.plan is not None and step.plan.is_made_anew)
    return FIRST_LOAD if is_anew or table_id in step.event.filled else ""


def _refresh_step(program: Program, table_id: int) -> ProgramStep | None:
    """Return the first step that has the table wait for a refresh, and has the reason."""

    def says(step: ProgramStep) -> bool:
        if step.plan is None:
            return "why" in (step.event.layout or ())
        return step.plan.needs_refresh or bool(step.plan.refreshed_rows)

    return next((step for step in program.steps if step.table_id == table_id and says(step)), None)


def plans(program: Program) -> list[TablePlan]:
    """Return every table's plan in the program, in log order."""
    return [step.plan for step in program.steps if step.plan is not None]
