"""This part of the repository stores runs and the errors that ended them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, insert, select

from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.errors.carried import kind_name
from airflow_ddlrepl.repository.base import Base, update_row, upsert
from airflow_ddlrepl.repository.stored.rows import ApplyRow, ErrorRow, RunRow, RunStatus
from airflow_ddlrepl.repository.stored.tables import errors, locks, positions, runs

APPLIED = "last apply at target "
COMPARE, COMPARE_SOME = "compare", "compare some tables"


class Runs(Base):
    """This part of the repository stores each stage of each run, and errors."""

    def start_run(self, channel: str, token: int, run_id: str, stage: str) -> None:
        """Store that a stage of a run begins; a retry replaces the first try."""
        with self._fenced(channel, token) as connection:
            now = self._database.now(connection)
            values = {"token": token, "started": now, "ended": None, "status": RunStatus.RUNNING, "result": None}
            upsert(connection, runs, {"channel": channel, "run_id": run_id, "stage": stage}, values)

    def finish_run(
        self, channel: str, token: int, run_id: str, stage: str, status: RunStatus, result: dict[str, Any] | None = None
    ) -> None:
        """Store that a stage ended; `result` is small JSON of what it did."""
        with self._fenced(channel, token) as connection:
            values = {"ended": self._database.now(connection), "status": RunStatus(status), "result": result}
            update_row(connection, runs, {"channel": channel, "run_id": run_id, "stage": stage}, values)

    def runs(self, channel: str, run_id: str | None = None, limit: int = 100) -> list[RunRow]:
        """Return stages of runs, newest first; one that never ended although its channel went on is `lost`."""
        query = select(runs, locks.c.token.label("newest"), locks.c.holder).where(runs.c.channel == channel)
        query = query.outerjoin(locks, locks.c.channel == runs.c.channel)
        if run_id is not None:
            query = query.where(runs.c.run_id == run_id)
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(runs.c.started.desc(), runs.c.stage).limit(limit))
            return [_run(row) for row in rows]

    def clock(self) -> datetime:
        """Return the time by the clock that all runs of a channel share."""
        with self._database.read() as connection:
            return self._database.now(connection)

    def set_last_apply(self, channel: str, token: int, target: str, row: ApplyRow | None) -> None:
        """Store when the last apply of changes at a target began, by `clock`; None: that is not known.

        target: as the channel file names it.
        """
        with self._fenced(channel, token) as connection:
            key = {"channel": channel, "kind": APPLIED + target}
            if row is None:
                here = (positions.c.channel == channel) & (positions.c.kind == key["kind"])
                connection.execute(delete(positions).where(here))
            else:
                upsert(connection, positions, key, {"lsn": row.token, "updated": row.at})

    def last_apply(self, channel: str, target: str) -> ApplyRow | None:
        """Return when the last apply of changes at a target began; None: not known."""
        query = select(positions.c.lsn, positions.c.updated)
        query = query.where(positions.c.channel == channel, positions.c.kind == APPLIED + target)
        with self._database.read() as connection:
            row = connection.execute(query).first()
            return ApplyRow(row.updated, row.lsn) if row else None

    def record_error(self, channel: str, run_id: str, stage: str, error: DdlReplError) -> None:
        """Store an error for `ddlrepl errors`; needs no lock, because a run that lost its lock has errors, too."""
        with self._database.write() as connection:
            now = self._database.now(connection)
            connection.execute(insert(errors).values(**_values(channel, stage, error), run_id=run_id, created=now))

    def record_error_once(self, channel: str, run_id: str, stage: str, error: DdlReplError) -> None:
        """Store an error as `record_error` does, unless it is stored already, whichever run it was of."""
        values = _values(channel, stage, error)
        is_known = select(errors.c.id).where(*(errors.c[name] == value for name, value in values.items()))
        with self._database.write() as connection:
            if connection.execute(is_known).first() is None:
                now = self._database.now(connection)
                connection.execute(insert(errors).values(**values, run_id=run_id, created=now))

    def record_comparison(
        self, channel: str, run_id: str, started: datetime, result: dict[str, Any], *, is_whole: bool = True
    ) -> None:
        """Store that tables of the channel were compared; needs no lock, for a comparison changes nothing.

        is_whole: all of its tables were.
        """
        with self._database.write() as connection:
            values = {"token": 0, "started": started, "ended": self._database.now(connection)}
            key = {"channel": channel, "run_id": run_id, "stage": COMPARE if is_whole else COMPARE_SOME}
            upsert(connection, runs, key, {**values, "status": RunStatus.DONE, "result": result})

    def compared_tables(self, channel: str) -> dict[tuple[str, int], dict[str, Any]]:
        """Return what the newest comparison of each table found, by target and table id, with `compared`: when it was.

        The last comparison of all tables counts, and those of some tables since.
        """
        last = self.last_comparison(channel)
        query = select(runs.c.ended, runs.c.result).where(runs.c.channel == channel, runs.c.stage == COMPARE_SOME)
        if last is not None:
            query = query.where(runs.c.started > last.started)
        with self._database.read() as connection:
            some = connection.execute(query.order_by(runs.c.started)).all()
        found: dict[tuple[str, int], dict[str, Any]] = {}
        for ended, result in [*([(last.ended, last.result)] if last is not None else []), *some]:
            for one in (result or {}).get("by_table", ()):
                found[one["target"], one["table_id"]] = {**one, "compared": ended}
        return found

    def last_comparison(self, channel: str) -> RunRow | None:
        """Return the newest comparison of all tables of the channel; None: there was none."""
        query = select(runs, locks.c.token.label("newest"), locks.c.holder)
        query = query.outerjoin(locks, locks.c.channel == runs.c.channel)
        query = query.where(runs.c.channel == channel, runs.c.stage == COMPARE).order_by(runs.c.started.desc()).limit(1)
        with self._database.read() as connection:
            row = connection.execute(query).first()
            return _run(row) if row else None

    def errors(self, channel: str, limit: int = 100) -> list[ErrorRow]:
        """Return errors, newest first."""
        query = select(errors).where(errors.c.channel == channel).order_by(errors.c.id.desc()).limit(limit)
        with self._database.read() as connection:
            return [_error(row) for row in connection.execute(query)]

    def errors_of_run(self, channel: str, run_id: str, but: str = "") -> list[ErrorRow]:
        """Return the errors of a run's stages that failed and did not run again since, without the stage `but`."""
        joined = (
            (runs.c.channel == errors.c.channel) & (runs.c.run_id == errors.c.run_id) & (runs.c.stage == errors.c.stage)
        )
        query = select(errors).join(runs, joined).where(errors.c.channel == channel, errors.c.run_id == run_id)
        query = query.where(runs.c.status == RunStatus.FAILED, errors.c.created >= runs.c.started, runs.c.stage != but)
        with self._database.read() as connection:
            return [_error(row) for row in connection.execute(query.order_by(errors.c.id))]

    def error_count(self, channel: str) -> int:
        """Return how many errors are stored for the channel."""
        with self._database.read() as connection:
            query = select(func.count()).select_from(errors).where(errors.c.channel == channel)
            return int(connection.execute(query).scalar_one())


def _run(row: Any) -> RunRow:
    status = RunStatus(row.status)
    if status is RunStatus.RUNNING and (row.token != row.newest or row.holder is None):
        status = RunStatus.LOST
    return RunRow(row.run_id, row.stage, row.token, row.started, row.ended, status, row.result)


def _error(row: Any) -> ErrorRow:
    what = (row.code, row.message, row.hint, row.table_name, row.at, row.created, row.target, row.kind or "")
    return ErrorRow(row.id, row.run_id, row.stage, *what)


def _values(channel: str, stage: str, error: DdlReplError) -> dict[str, str | None]:
    return {
        "channel": channel,
        "stage": stage,
        "kind": kind_name(error),
        "code": error.code,
        "message": redact(error.message_with_names),
        "hint": redact(error.hint),
        "target": error.target,
        "table_name": error.table,
        "at": error.at,
    }
