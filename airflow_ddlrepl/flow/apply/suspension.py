"""One bad table stops no other: a table that the target refuses is suspended, until a run can bring it up again."""

from __future__ import annotations

from airflow_ddlrepl.adapt.program.program import Program
from airflow_ddlrepl.adapt.program.suspend import Suspensions, suspended
from airflow_ddlrepl.config.sections.channel_at import ChannelAt
from airflow_ddlrepl.config.sections.policies import OnError
from airflow_ddlrepl.errors import AlterRefused, DdlReplError, TablesSuspended
from airflow_ddlrepl.flow.apply.pending_log import PendingLog
from airflow_ddlrepl.flow.run.context import RunContext, log
from airflow_ddlrepl.flow.run.remedies import remedy_for
from airflow_ddlrepl.model.position import START_OF_TRANSACTION, LogKey, Position
from airflow_ddlrepl.model.table_state import TableStatus


def suspends(at: ChannelAt) -> bool:
    """Does a table that this target refuses stop alone? A replay stops as a whole: nobody works with it yet."""
    return not at.is_replay and at.place.on_error is OnError.SUSPEND_TABLE


def suspend_for(
    run: RunContext, ahead: PendingLog, program: Program, suspensions: Suspensions, error: DdlReplError
) -> bool:
    """Note the table that an error of the target is about as one to suspend; False: the error stops the target."""
    table_id = _table_of(ahead, program, error) if suspensions.is_on else None
    if table_id is None or table_id in suspensions:
        return False
    state = ahead.table_states.get(table_id)
    if state is not None and state.state is TableStatus.SUSPENDED:
        return False
    start = LogKey(program.low, START_OF_TRANSACTION)
    at = max(start, ahead.builder.positions.get(table_id, start))
    suspensions.help(table_id, remedy_for(run, error))
    note = suspensions.add_new if state is None or state.state is TableStatus.ORPHANED else suspensions.add
    note(table_id, error, at, program.high)
    log.error("target %s suspends %s at %s: %s", ahead.target, error.table, at, error)
    return True


def _table_of(ahead: PendingLog, program: Program, error: DdlReplError) -> int | None:
    """Return the id of the table that an error is about; None: it is not about one, or passes by itself."""
    if isinstance(error, AlterRefused):
        return error.on[0]
    if error.retryable or error.table is None or not error.suspends_table:
        return None
    if error.table_id is not None:
        return error.table_id
    end = LogKey.last_before(ahead.high)
    for table_id, state in {**program.table_states, **ahead.table_states}.items():
        table = ahead.builder.shape_at(table_id, end)
        if error.table in (str(state.name), str(table.name) if table else None):
            return table_id
    return None


def suspended_error(run: RunContext, target: str) -> TablesSuspended | None:
    """Return the error of a target with suspended tables, which names them all and gives the first one's reason."""
    now = run.target(target).state()
    late = suspended(now.table_states)
    if not late:
        return None
    first = late[0].suspension
    assert first is not None
    names = ", ".join(str(one.name) for one in late)
    many = f"tables {names} are" if len(late) > 1 else f"table {names} is"
    return TablesSuspended(
        f"{many} suspended, the others go on: {late[0].name} at {Position(first.at.lsn)}: {first}",
        code="INT-123",
        target=target,
        table=late[0].name,
        at=Position(first.at.lsn),
        hint=(f"{first.hint}. " if first.hint else "")
        + "Each cycle tries again, and `ddlrepl errors retry` does at once;"
        f" `ddlrepl refresh CHANNEL.yaml --table {late[0].name}` loads it instead",
    )
