"""This part of the repository stores what was done at each target and what it waits for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import delete, func, insert, select, update

from airflow_ddlrepl.errors import ConfigError, StepContradicted
from airflow_ddlrepl.model.position import LogKey, Position
from airflow_ddlrepl.model.record import RELOAD, RefreshRequested, StepApplied
from airflow_ddlrepl.repository.base import Base, insert_new, upsert
from airflow_ddlrepl.repository.stored.rows import ControlRow, LedgerRow, RefreshRow, StepState
from airflow_ddlrepl.repository.stored.tables import controls, ledger, refreshes


class Work(Base):
    """This part of the repository stores ledger steps, controls and refreshes of the targets."""

    def record_step(self, channel: str, token: int, target: str, step: StepApplied, state: StepState) -> None:
        """Record the state of a step; recording a state that is stored already changes nothing.

        Raises StepContradicted REP-106 when the step is done with other SQL, or done and would be undone.
        """
        key = {"channel": channel, "target": target, **_place(step)}
        where = [ledger.c[name] == value for name, value in key.items()]
        with self._fenced(channel, token) as connection:
            row = connection.execute(select(ledger).where(*where)).first()
            if row and row.state == StepState.DONE and (row.sql_hash or not step.sql_hash):
                if not step.sql_hash:
                    return
                if row.sql_hash != step.sql_hash or state is not StepState.DONE:
                    raise _done_already(target, step)
                return
            values = {**_facts(step), "state": StepState(state)}
            upsert(connection, ledger, key, {**values, "at": self._database.now(connection)})

    def record_new_steps(self, channel: str, token: int, target: str, steps: Sequence[StepApplied]) -> bool:
        """Record that these steps are done, thousands by few statements.

        Return False, and record nothing, where one of them is recorded already, or two have one place:
        `record_step` says of each what becomes of it.
        """
        places = {(one.table_id, one.revision, one.step) for one in steps}
        revision = func.max(ledger.c.revision)
        query = select(ledger.c.table_id, revision).where(ledger.c.channel == channel, ledger.c.target == target)
        with self._fenced(channel, token) as connection:
            last = {row[0]: row[1] for row in connection.execute(query.group_by(ledger.c.table_id))}
            if len(places) < len(steps) or any(one.revision <= last.get(one.table_id, -1) for one in steps):
                return False
            done = {"channel": channel, "target": target, "state": StepState.DONE, "at": self._database.now(connection)}
            if steps:
                connection.execute(insert(ledger), [{**done, **_place(one), **_facts(one)} for one in steps])
            return True

    def ledger(
        self, channel: str, target: str | None = None, table_ids: Collection[int] | None = None
    ) -> list[LedgerRow]:
        """Return recorded steps in order of table, revision and step. table_ids: few; None: of all tables."""
        query = select(ledger).where(ledger.c.channel == channel)
        if target is not None:
            query = query.where(ledger.c.target == target)
        if table_ids is not None:
            query = query.where(ledger.c.table_id.in_(table_ids))
        query = query.order_by(ledger.c.target, ledger.c.table_id, ledger.c.revision, ledger.c.step)
        with self._database.read() as connection:
            return [_step(row) for row in connection.execute(query)]

    def add_control(self, channel: str, token: int, target: str, key: LogKey, reason: str, policy: str) -> ControlRow:
        """Stop the target at `key` until a person removes the control; return the control that is there already.

        A control that a person has removed stays removed: what it stopped at is dealt with.
        """
        values = {"channel": channel, "target": target, "lsn": int(key.lsn), "seq": key.seq}
        where = [controls.c[name] == value for name, value in values.items()]
        with self._fenced(channel, token) as connection:
            now = self._database.now(connection)
            insert_new(connection, controls, {**values, "reason": reason, "policy": policy, "created": now})
            return _control(connection.execute(select(controls).where(*where)).one())

    def controls(self, channel: str, target: str | None = None, *, removed: bool = False) -> list[ControlRow]:
        """Return the active controls in log order, or with removed=True every control that there ever was."""
        query = select(controls).where(controls.c.channel == channel).order_by(controls.c.lsn, controls.c.seq)
        if target is not None:
            query = query.where(controls.c.target == target)
        if not removed:
            query = query.where(controls.c.removed.is_(None))
        with self._database.read() as connection:
            return [_control(row) for row in connection.execute(query)]

    def remove_control(self, channel: str, control_id: int, by: str = "") -> ControlRow:
        """Remove a control, which is a person's decision to go on; needs no lock. by: who decided, as far as known.

        Raises ConfigError CTL-102 when there is no such control.
        """
        where = (controls.c.channel == channel, controls.c.id == control_id)
        with self._database.write() as connection:
            now = self._database.now(connection)
            connection.execute(
                update(controls).where(*where, controls.c.removed.is_(None)).values(removed=now, removed_by=by or None)
            )
            row = connection.execute(select(controls).where(*where)).first()
        if row is None:
            raise ConfigError(
                f"channel {channel} has no control {control_id}", code="CTL-102", hint="`ddlrepl controls` lists them"
            )
        return _control(row)

    def request_refresh(self, channel: str, token: int, target: str, request: RefreshRequested) -> RefreshRow:
        """Store that a table waits to be loaded again; a request that is pending already covers later ones, too.

        A person's reason and options replace those of the pending request.
        """
        wish = {"reason": request.reason, "how": request.how}
        where = (refreshes.c.channel == channel, refreshes.c.target == target, refreshes.c.table_id == request.table_id)
        pending = select(refreshes).where(*where, refreshes.c.state == "pending")
        with self._fenced(channel, token) as connection:
            row = connection.execute(pending).first()
            if row is None:
                if request.how == RELOAD:  # again and again: only the last one is remembered
                    former = (refreshes.c.state == "done", refreshes.c.how == RELOAD)
                    connection.execute(delete(refreshes).where(*where, *former))
                values = {"channel": channel, "target": target, "table_id": request.table_id, **wish}
                made = {"requested_at": int(request.at), "state": "pending", "created": self._database.now(connection)}
                connection.execute(refreshes.insert().values(**values, **made))
                row = connection.execute(pending).one()
            elif request.is_by_hand:
                connection.execute(update(refreshes).where(refreshes.c.id == row.id).values(**wish))
                row = connection.execute(pending).one()
            return _refresh(row)

    def decline_refresh(self, channel: str, token: int, target: str, table_id: int, reason: str, at: Position) -> None:
        """Store why rows of the table may differ since `at`, until the next refresh; the same reason is stored once."""
        values = {"channel": channel, "target": target, "table_id": table_id, "reason": reason, "state": "declined"}
        where = [refreshes.c[name] == value for name, value in values.items()]
        with self._fenced(channel, token) as connection:
            if connection.execute(select(refreshes.c.id).where(*where)).first() is None:
                made = {"requested_at": int(at), "how": "", "created": self._database.now(connection)}
                connection.execute(refreshes.insert().values(**values, **made))

    def declined_refreshes(self, channel: str, target: str) -> list[RefreshRow]:
        """Return why rows of tables may differ at the target, oldest first."""
        return self.refreshes(channel, target, "declined")

    def pending_refreshes(self, channel: str, target: str | None = None) -> list[RefreshRow]:
        """Return the tables that wait to be loaded, oldest request first."""
        return self.refreshes(channel, target, "pending")

    def refreshes(self, channel: str, target: str | None = None, state: str | None = None) -> list[RefreshRow]:
        """Return every refresh, or those of one state, oldest first."""
        query = select(refreshes).where(refreshes.c.channel == channel).order_by(refreshes.c.id)
        if target is not None:
            query = query.where(refreshes.c.target == target)
        if state is not None:
            query = query.where(refreshes.c.state == state)
        with self._database.read() as connection:
            return [_refresh(row) for row in connection.execute(query)]

    def last_loads(self, channel: str) -> list[RefreshRow]:
        """Return the newest refresh of each table at each target that was done."""
        done = (refreshes.c.channel == channel) & (refreshes.c.state == "done")
        newest = select(func.max(refreshes.c.id)).where(done).group_by(refreshes.c.target, refreshes.c.table_id)
        with self._database.read() as connection:
            rows = connection.execute(select(refreshes).where(refreshes.c.id.in_(newest.scalar_subquery())))
            return [_refresh(row) for row in rows]

    def finish_refresh(self, channel: str, token: int, target: str, table_id: int, rows: int | None = None) -> None:
        """Mark the pending and declined refreshes of a loaded table as done; without any, change nothing."""
        where = (refreshes.c.channel == channel, refreshes.c.target == target, refreshes.c.table_id == table_id)
        with self._fenced(channel, token) as connection:
            values = {"state": "done", "rows": rows, "finished": self._database.now(connection)}
            connection.execute(update(refreshes).where(*where, refreshes.c.state != "done").values(**values))

    def knows_target(self, channel: str, target: str) -> bool:
        """Return whether anything was recorded for the target: a step, or a refresh."""
        with self._database.read() as connection:
            for table in (refreshes, ledger):
                query = select(table.c.target).where(table.c.channel == channel, table.c.target == target).limit(1)
                if connection.execute(query).first() is not None:
                    return True
        return False

    def forget_target(self, channel: str, token: int, target: str) -> None:
        """Delete the steps and refreshes of a target that begins again; its controls stay as people left them."""
        with self._fenced(channel, token) as connection:
            for table in (ledger, refreshes):
                connection.execute(delete(table).where(table.c.channel == channel, table.c.target == target))


def _place(step: StepApplied) -> dict[str, int]:
    return {"table_id": step.table_id, "revision": step.revision, "step": step.step}


def _facts(step: StepApplied) -> dict[str, str]:
    return {"sql_hash": step.sql_hash, "summary": step.summary, "statement": step.statement}


def _done_already(target: str, step: StepApplied) -> StepContradicted:
    return StepContradicted(
        f"step {step.step} towards revision {step.revision} of table {step.table_id}"
        f" is done at {target} with other SQL",
        code="REP-106",
        hint="a finished step is never changed; run again: a run plans from the target's present shape",
    )


def _step(row: Any) -> LedgerRow:
    place = (row.target, row.table_id, row.revision, row.step)
    return LedgerRow(*place, row.sql_hash, row.summary, StepState(row.state), row.at, row.statement or "")


def _control(row: Any) -> ControlRow:
    key = LogKey(row.lsn, row.seq)
    return ControlRow(row.id, row.target, key, row.reason, row.policy, row.created, row.removed, row.removed_by)


def _refresh(row: Any) -> RefreshRow:
    place = (row.id, row.target, row.table_id, row.reason, Position(row.requested_at))
    return RefreshRow(*place, row.state, row.rows, row.created, row.finished, row.how)
