"""This module merges staged net changes into their tables, inside the transaction that also moves the position.

All tables together go through deletes, then updates and changed keys, then inserts. Every statement's
row count is checked: a target that is not what the log says is an error, not a guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.quoting import qualified
from airflow_ddlrepl.engines.postgres.merge import statements
from airflow_ddlrepl.engines.postgres.merge.constraints import (
    Session,
    deferred,
    prepare_session,
    refuse_cascades,
    rows_of,
    table_order,
)
from airflow_ddlrepl.engines.postgres.merge.copied_rows import insert_copied
from airflow_ddlrepl.engines.postgres.merge.inline_rows import taking
from airflow_ddlrepl.engines.postgres.merge.own_triggers import at_rest, what_takes_rows
from airflow_ddlrepl.engines.postgres.merge.refusals import EXCLUSION, REPAIR, UNIQUE, refused, telling_refusals
from airflow_ddlrepl.engines.postgres.merge.staging_tables import Stage, Staged
from airflow_ddlrepl.errors import DdlReplError, RowsRefused, identified
from airflow_ddlrepl.model.names import TableName


@dataclass(frozen=True, slots=True)
class MergeCounts:
    """Merge counts are how many rows of one target table a merge changed.

    moved: their key changed. changes: row changes netted.
    """

    table_id: int
    target: TableName
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    moved: int = 0
    changes: int = 0


def merge(cursor: Any, staging: Sequence[Staged], session: Session) -> list[MergeCounts]:
    """Merge staged rows in the cursor's open transaction and drop the staging tables; return one result per table.

    Raises RowsRefused INT-101 (rows are missing in the target), INT-102 (rows are there already),
    INT-104 (a foreign key), INT-105 (the target refuses rows), INT-106. The caller rolls back then.
    """
    groups: dict[TableName, list[Staged]] = {}
    for one in staging:
        groups.setdefault(one.target, []).append(one)
    ids = {str(name): group[0].table_id for name, group in groups.items()}
    touched = [name for name, group in groups.items() if any(one.rows for one in group)]
    names = table_order(cursor, touched) if session.enforces and touched else touched
    name = names[0] if len(names) == 1 else None
    resting = at_rest(cursor, touched, session)
    with identified(ids), telling_refusals(name, cursor), resting, deferred(cursor, names, session):
        merges = [_Merge(cursor, name, groups[name], session) for name in names]
        for one_table in reversed(merges):
            one_table.delete()
            session.look(cursor, one_table.name)
        for one_table in merges:
            one_table.change()
            session.look(cursor, one_table.name)
        for one_table in merges:
            one_table.insert()
            session.look(cursor, one_table.name)
    for one in staging:
        if one.stored:
            cursor.execute(statements.drop(one).encode())
    return [_counts(group) for group in groups.values()]


class PipelineFailed(Exception):
    """Something of a pipeline has failed: only statements that are waited for one by one tell which."""


@contextmanager
def pipeline(cursor: Any, session: Session) -> Iterator[None]:
    """Send what is executed inside the `with` without waiting; look at counts and settings when it ends.

    Raises PipelineFailed when a statement fails, is about another number of rows, or has changed the settings.
    """
    session.unchecked = []
    has_failed = False
    try:
        with cursor.connection.pipeline():
            try:
                yield
            except (cursor.connection.Error, DdlReplError):
                has_failed = True  # and the pipeline's end takes the results of what was sent
    except cursor.connection.Error:
        has_failed = True
    if has_failed or any(one.rowcount != rows for one, rows in session.unchecked) or session.changed(cursor):
        raise PipelineFailed
    session.unchecked = None


def truncate(cursor: Any, names: Sequence[TableName], session: Session, *, restart: bool = False) -> None:
    """Truncate these tables together, in the cursor's open transaction. restart: their sequences, too.

    Where foreign keys of other tables refer to them TRUNCATE is refused: their rows are deleted instead.
    Raises ForeignKeyBroken INT-104, RowsRefused INT-105 (a trigger or a missing right), of the table that refuses it.
    """
    from psycopg.errors import FeatureNotSupported

    tables = ", ".join(rows_of(cursor, names, session).values())
    try:
        with cursor.connection.transaction():
            cursor.execute(f"TRUNCATE {tables}{' RESTART IDENTITY' if restart else ''}".encode())
    except FeatureNotSupported:
        delete_all(cursor, names, session)
    except cursor.connection.Error as error:
        raise refused(_refusing_truncate(cursor, names), error) from error


def _refusing_truncate(cursor: Any, names: Sequence[TableName]) -> TableName:
    """Return the first of these tables that can't be truncated alone, which the server's error does not name.

    One that another table refers to is not asked; where none is left it is the first one.
    """
    from psycopg.errors import FeatureNotSupported

    for name in names:
        try:
            with cursor.connection.transaction(force_rollback=True):
                cursor.execute(f"TRUNCATE {qualified(name)}".encode())
        except FeatureNotSupported:
            continue
        except cursor.connection.Error:
            return name
    return names[0]


def delete_all(cursor: Any, names: Sequence[TableName], session: Session, where: str = "true") -> None:
    """Delete every row of these tables, in the cursor's open transaction. where: SQL, only rows t that it is true for.

    Raises ForeignKeyBroken INT-104 (a foreign key).
    """
    with telling_refusals(names[0] if len(names) == 1 else None, cursor), deferred(cursor, names, session):
        rows = rows_of(cursor, names, session)
        for name in reversed(table_order(cursor, names)):
            cursor.execute(f"DELETE FROM {rows[name]} t WHERE {where}".encode())


def _counts(group: Sequence[Staged]) -> MergeCounts:
    def total(*stages: Stage) -> int:
        return sum(one.count(stage) for one in group for stage in stages)

    return MergeCounts(
        table_id=group[0].table_id,
        target=group[0].target,
        inserted=total(Stage.INSERTS, Stage.ADDED),
        updated=total(Stage.UPDATES),
        deleted=total(Stage.DELETES, Stage.REMOVED),
        moved=total(Stage.MOVES),
        changes=sum(one.changes for one in group),
    )


class _Merge:
    """A merge of one table has three phases."""

    def __init__(self, cursor: Any, name: TableName, group: Sequence[Staged], session: Session) -> None:
        self.cursor = cursor
        self.name = name
        self.group = group
        self.session = session
        self._columns_known: dict[str, bool] | None = None

    def delete(self) -> None:
        """Run phase 1: delete rows that are gone; set rows aside whose key changes."""
        with telling_refusals(self.name, self.cursor):
            for one in self._with(Stage.DELETES):
                self._run(statements.delete(one, Stage.DELETES), one, Stage.DELETES, "delete")
            for one in self._with(Stage.REMOVED):
                self._run(statements.delete_copies(one), one, Stage.REMOVED, "delete")
            self._take_out(Stage.MOVES)

    def change(self) -> None:
        """Run phase 2: update rows; put rows back whose key changed."""
        with telling_refusals(self.name, self.cursor):
            self._update()
            self._put_back(Stage.MOVES)
            for one in self._with(Stage.UPDATES):
                if one.is_resilient:
                    self._execute(statements.insert_missing(one, Stage.UPDATES), one, Stage.UPDATES)

    def insert(self) -> None:
        """Run phase 3: insert new rows."""
        with telling_refusals(self.name, self.cursor):
            for one in self._with(Stage.INSERTS):
                self._forget_deleted(one, Stage.INSERTS)
                if one.is_resilient:
                    self._insert_or_update(one)
                elif one.copied:
                    self._copy(one)
                else:
                    self._run(statements.insert(one), one, Stage.INSERTS, "insert")
            for one in self._with(Stage.ADDED):
                self._run(statements.insert_copies(one), one, Stage.ADDED, "insert")

    def _copy(self, one: Staged) -> None:
        """Copy new rows into the table. Raises PipelineFailed in a pipeline, where no COPY can be sent."""
        if self.session.unchecked is not None:
            raise PipelineFailed
        self._require(insert_copied(self.cursor, one), one.count(Stage.INSERTS), "insert")

    def _insert_or_update(self, one: Staged) -> None:
        """Insert rows, some of which may be there already."""
        update = statements.update(one, Stage.INSERTS)
        if update is not None:
            self._execute(update, one, Stage.INSERTS)
        self._execute(statements.insert_missing(one, Stage.INSERTS), one, Stage.INSERTS)

    def _update(self) -> None:
        """Update rows in place; where unique values wander between rows, by taking all of them out first."""
        updates = self._with(Stage.UPDATES)
        if not updates:
            return
        if not any(one.replaces for one in updates):
            is_sent = self.session.unchecked is not None
            try:
                with nullcontext() if is_sent else self.cursor.connection.transaction():
                    for one in updates:
                        statement = statements.update(one)
                        if statement is not None:
                            self._run(statement, one, Stage.UPDATES, "update")
                return
            except self.cursor.connection.IntegrityError as error:
                if is_sent or error.sqlstate not in (UNIQUE, EXCLUSION):
                    raise
        self._take_out(Stage.UPDATES)
        self._put_back(Stage.UPDATES)

    def _take_out(self, stage: Stage) -> None:
        group = self._with(stage)
        if group:
            refuse_cascades(self.cursor, self.name, self.session)
        for one in group:
            self._execute(statements.set_aside(one, stage, self._row()), one, stage)
        for one in group:
            self._run(statements.delete(one, stage), one, stage, "update")

    def _put_back(self, stage: Stage) -> None:
        for one in self._with(stage):
            if stage is Stage.MOVES:
                self._forget_deleted(one, stage)
            self._run(statements.put_back(one, stage, self._row(), self._insertable()), one, stage, "update")
            self.cursor.execute(statements.drop_aside(one, stage).encode())

    def _forget_deleted(self, one: Staged, stage: Stage) -> None:
        """Remove rows that were kept as deleted, where rows come under their keys."""
        if one.deletion:
            self._execute(statements.forget_deleted(one, stage), one, stage)

    def _with(self, stage: Stage) -> list[Staged]:
        return [one for one in self.group if one.count(stage)]

    def _execute(self, statement: str, one: Staged, stage: Stage) -> int:
        """Run a statement, with its inline rows if it has some; return how many rows it was about."""
        return int(self._send(statement, one, stage).rowcount)

    def _send(self, statement: str, one: Staged, stage: Stage) -> Any:
        """Send a statement, with its inline rows if it has some; return its cursor."""
        if (inline := one.inline.get(stage)) is None:
            return self.cursor.connection.cursor().execute(statement.encode())
        return taking(self.cursor.connection).execute(statement.encode(), inline.values, prepare=False)

    def _run(self, statement: str, one: Staged, stage: Stage, verb: str) -> None:
        rows, sent = one.count(stage), self._send(statement, one, stage)
        if one.is_resilient:
            return
        if self.session.unchecked is not None:
            self.session.unchecked.append((sent, rows))
        else:
            self._require(sent.rowcount, rows, verb)

    def _require(self, found: int, rows: int, verb: str) -> None:
        """Raise RowsRefused INT-101 where a statement is about another number of rows than are staged for it."""
        if found != rows:
            raise RowsRefused(
                f"rows are missing in the target: {rows} to {verb}, {found} found"
                if found < rows
                else f"rows exist more than once: {rows} to {verb}, {found} found",
                code="INT-101",
                table=self.name,
                hint=self._why_missing() if found < rows else REPAIR,
            )

    def _why_missing(self) -> str:
        takes = what_takes_rows(self.cursor, self.name, self.session)
        own = f"the target's table has {takes}, which may take rows: let it leave this role's rows alone. "
        return f"{own if takes else ''}{REPAIR}"

    def _row(self) -> str:
        """Return a column name that the table does not have."""
        name = "row"
        while name in self._all_columns():
            name += "_"
        return name

    def _insertable(self) -> list[str]:
        return [name for name, is_generated in self._all_columns().items() if not is_generated]

    def _all_columns(self) -> dict[str, bool]:
        if self._columns_known is None:
            self.cursor.execute(
                "SELECT attname, attgenerated <> '' FROM pg_attribute"
                " WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
                [qualified(self.name)],
            )
            self._columns_known = dict(self.cursor.fetchall())
        return self._columns_known


__all__ = ["MergeCounts", "PipelineFailed", "Session", "merge", "pipeline", "prepare_session", "table_order"]
