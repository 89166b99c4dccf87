"""A target's outbox holds records of what was done there, until they are in the repository, also when a run is killed.

The target leaves a record in the transaction that did the work. It is removed when the repository has it;
to record it twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

from airflow_ddlrepl.errors import CannotAdapt, RepositoryError, StepContradicted
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.model.record import Record, RefreshDeclined, RefreshRequested, StatementDiscarded, StepApplied
from airflow_ddlrepl.repository.stored.rows import StepState


def record(run: RunContext, target: str) -> None:
    """Write to the repository what this and earlier runs left in the target's outbox.

    Raises StepContradicted REP-106 for a step that is done with other SQL: once, then it is forgotten.
    """
    place = run.target(target)
    found = place.outbox()
    written, error = _write_all(run, target, [one for _, one in found])
    if error is not None:
        if isinstance(error, StepContradicted):
            place.acknowledge([number for number, _ in found[: written + 1]])
        raise error
    if found:
        reach("record.repository")
        place.acknowledge([number for number, _ in found])


def _write_all(run: RunContext, target: str, records: Sequence[Record]) -> tuple[int, RepositoryError | None]:
    """Write records up to one that is refused; return how many were written, and the error.

    Thousands are one transaction; an error of a person's statement has its own.
    """
    apart = any(isinstance(one, StatementDiscarded) for one in records)
    with nullcontext() if apart or not records else run.repository.together(run.channel.name, run.token):
        are_done = not apart and _write_new_steps(run, target, records)
        for written, one in enumerate(records):
            try:
                if not (are_done and isinstance(one, StepApplied)):
                    _write(run, target, one)
            except RepositoryError as error:
                return written, error
    return len(records), None


def _write_new_steps(run: RunContext, target: str, records: Sequence[Record]) -> bool:
    """Write all steps among the records together; return False, and write none, where some are there already."""
    steps = [one for one in records if isinstance(one, StepApplied)]
    return bool(steps) and run.repository.record_new_steps(run.channel.name, run.token, target, steps)


def has_unrecorded(run: RunContext, target: str) -> bool:
    """Did a run that was killed leave something in the target's outbox?"""
    return bool(run.target(target).outbox())


def _write(run: RunContext, target: str, record: Record) -> None:
    repository, place = run.repository, (run.channel.name, run.token)
    if isinstance(record, StepApplied):
        repository.record_step(*place, target, record, StepState.DONE)
    elif isinstance(record, RefreshRequested):
        repository.request_refresh(*place, target, record)
    elif isinstance(record, RefreshDeclined):
        repository.decline_refresh(*place, target, record.table_id, record.reason, record.at)
    elif isinstance(record, StatementDiscarded):
        repository.record_error_once(run.channel.name, run.run_id, f"target {target}", _discarded(record, target))
    else:
        repository.finish_refresh(*place, target, record.table_id, record.rows)


def _discarded(record: StatementDiscarded, target: str) -> CannotAdapt:
    """Return a statement that a Replicat has put aside as the list of errors has it."""
    return CannotAdapt(
        f"DDLERROR {record.error}: the statement is discarded: `{record.text}`: {record.why}",
        code="DDL-103",
        target=target,
        table=record.table,
        at=record.at,
        hint="run it at the target by hand, as far as it is needed there; then load the table:"
        f" `ddlrepl refresh CHANNEL.yaml --table {record.table}`",
    )
