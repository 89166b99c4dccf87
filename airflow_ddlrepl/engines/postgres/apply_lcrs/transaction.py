"""This module applies row and DDL LCRs in one transaction at a PostgreSQL target, exactly one row for each row LCR."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

from airflow_ddlrepl.adapt.target_facts import About
from airflow_ddlrepl.engines.abilities.lcr_target import (
    FailedTransaction,
    FeedPosition,
    LcrTransaction,
    NewTables,
    NotTogether,
    QueuedError,
    RunAs,
)
from airflow_ddlrepl.engines.postgres.apply_lcrs import error_queue, stored_state
from airflow_ddlrepl.engines.postgres.apply_lcrs.ddl_text import text_at_target
from airflow_ddlrepl.engines.postgres.apply_lcrs.new_tables import PostgresNewTables
from airflow_ddlrepl.engines.postgres.apply_lcrs.row_sets import BY_KEY, RowSet, require_apart, row_sets
from airflow_ddlrepl.engines.postgres.apply_lcrs.run_as import BACK, role_of
from airflow_ddlrepl.engines.postgres.apply_lcrs.statements import Statement, statement_of, table_of
from airflow_ddlrepl.engines.postgres.apply_lcrs.table_layout import TableLayout, read_layout, require_trusted
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.errors import CONTENTION, passing
from airflow_ddlrepl.engines.postgres.ddl.replay_text import replayed_text
from airflow_ddlrepl.engines.postgres.merge.inline_rows import taking
from airflow_ddlrepl.engines.postgres.source.messages import send
from airflow_ddlrepl.errors import ApplyError, MessageError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.sql.spelling import spell
from airflow_ddlrepl.streams.apply_message import ApplyMessage
from airflow_ddlrepl.streams.evaluation.row_batch import RowBatch
from airflow_ddlrepl.streams.messages import DdlLcr, MessageClass, RowLcr
from airflow_ddlrepl.streams.rules.apply_settings import Instantiation

AT_ONCE = 500
"""So many row changes are sent together."""


class _Change(NamedTuple):
    """A change is a row LCR with its statement. number: of its message."""

    lcr: RowLcr
    statement: Statement
    number: int | None


class _AnotherCount(Exception):
    """A statement of several that were sent together has not changed exactly one row."""


@dataclass
class PostgresLcrTransaction(LcrTransaction):
    """This transaction is open on a connection until its session commits it.

    layouts: of the tables that were changed so far, as they are now. trusted: roles that may own what is written to.
    """

    connection: Connection[Any]
    channel: str
    layouts: dict[TableName, TableLayout | None] = field(default_factory=dict)
    trusted: Collection[str] = ()
    _waiting: list[_Change] = field(default_factory=list)

    @cached_property
    def new_tables(self) -> NewTables:
        return PostgresNewTables(self.connection, self.trusted)

    def row(self, lcr: RowLcr, key_columns: Collection[str], number: int | None = None) -> None:
        self._waiting.append(self._change(lcr, key_columns, number))
        if len(self._waiting) >= AT_ONCE:
            self.flush()

    def row_at_once(self, lcr: RowLcr, key_columns: Collection[str], number: int | None = None) -> None:
        change = self._change(lcr, key_columns, number)
        self.flush()
        with self.connection.transaction():
            self._one(change)

    def rows_together(self, batches: Sequence[RowBatch], message_class: MessageClass) -> None:
        import psycopg

        self.flush()
        require_apart(batches)
        layouts = [self._layout_or_alone(TableName(one.owner, one.name)) for one in batches]
        sets = [one for batch, of in zip(batches, layouts, strict=True) for one in row_sets(batch, of, message_class)]
        try:
            self.connection.execute(BY_KEY)
            with self.connection.pipeline():
                found = [(self._sent(one), one.rows) for one in sets]
        except psycopg.Error as error:
            if error.sqlstate in CONTENTION or passing(error, "the target") is not None:
                raise
            raise NotTogether from error
        if any(cursor.rowcount != rows for cursor, rows in found):
            raise NotTogether

    def _sent(self, one: RowSet) -> Any:
        return taking(self.connection).execute(one.text.encode(), one.parameters, prepare=False)

    def ddl(
        self,
        lcrs: Sequence[DdlLcr],
        search_path: str,
        time_zone: str,
        number: int | None = None,
        run_as: RunAs | None = None,
    ) -> None:
        import psycopg

        self.flush()
        lcr = lcrs[0]
        with _numbered(number):
            text = text_at_target(lcrs, lcr.current_schema)
            role = role_of(self.connection, lcr, run_as)
        path = search_path or (spell(lcr.current_schema) if lcr.current_schema else "")
        try:
            for statement in _as_role(replayed_text(text, path, time_zone or None, About()), text, role):
                self.connection.cursor().execute(statement.encode(), binary=statement == text)
        except psycopg.Error as error:
            name = f"{lcr.owner}.{lcr.name}" if lcr.owner else lcr.name
            _refuse(error, f"`{text}`", name, number)
        finally:
            self.layouts.clear()
        reach("apply.altered")

    def sql(self, text: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        import psycopg

        self.flush()
        try:
            with self.connection.transaction():
                cursor = self.connection.execute(text.encode(), list(parameters) if parameters else None)
                return cursor.fetchall() if cursor.description is not None else []
        except psycopg.Error as error:
            _refuse(error, f"`{text}` of a handler", None, None)

    def enqueue(self, payload: str) -> None:
        self.flush()
        try:
            with self.connection.transaction():
                send([payload], self.connection)
        except MessageError as error:
            raise ApplyError(error.message, code="APL-109", hint=error.hint) from error

    def flush(self) -> None:
        changes, self._waiting = self._waiting, []
        if len(changes) > 1 and self._together(changes):
            return
        for change in changes:
            self._one(change)

    def check_constraints(self) -> None:
        """Check what the session has put off to the end. Raises ApplyError APL-103."""
        import psycopg

        try:
            self.connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
        except psycopg.Error as error:
            _refuse(error, "the transaction", None, None)

    def move(self, client: str, to: FeedPosition) -> None:
        stored_state.move(self.connection.cursor(), self.channel, client, to)

    def store(self, client: str, failed: FailedTransaction, messages: Iterable[ApplyMessage]) -> int:
        return error_queue.store(self.connection.cursor(), self.channel, client, failed, messages)

    def take(self, number: int) -> QueuedError:
        return error_queue.take(self.connection.cursor(), self.channel, number)

    def messages(self, number: int) -> Iterator[ApplyMessage]:
        return error_queue.messages(self.connection, self.channel, number)

    def delete(self, number: int) -> None:
        error_queue.delete(self.connection.cursor(), number)

    def failed_again(self, number: int, failed: FailedTransaction) -> None:
        error_queue.failed_again(self.connection.cursor(), number, failed)

    def instantiate(self, client: str, found: Iterable[Instantiation]) -> None:
        stored_state.instantiate(self.connection.cursor(), self.channel, client, found)

    def _change(self, lcr: RowLcr, key_columns: Collection[str], number: int | None) -> _Change:
        with _numbered(number):
            return _Change(lcr, statement_of(lcr, self._layout(table_of(lcr)), key_columns), number)

    def _layout(self, name: TableName) -> TableLayout:
        if name not in self.layouts:
            require_trusted(self.connection.cursor(), {name: ()}, self.trusted)
            self.layouts[name] = read_layout(self.connection.cursor(), name)
        found = self.layouts[name]
        if found is None:
            raise ApplyError(
                f"the target has no table {name}",
                code="APL-104",
                table=name,
                hint="create it there, or take it out of the client's rules (a negative rule, or rename_table)",
            )
        return found

    def _layout_or_alone(self, name: TableName) -> TableLayout:
        try:
            return self._layout(name)
        except ApplyError as error:
            raise NotTogether((name,)) from error

    def _together(self, changes: Sequence[_Change]) -> bool:
        """Send changes without waiting for each; return whether all are done. Else nothing of them is."""
        import psycopg

        try:
            with self.connection.transaction():
                with self.connection.pipeline():
                    found = [
                        self.connection.execute(one.statement.text.encode(), one.statement.parameters, prepare=True)
                        for one in changes
                    ]
                if any(cursor.rowcount != 1 for cursor in found):
                    raise _AnotherCount
        except _AnotherCount:
            return False
        except psycopg.Error as error:
            if error.sqlstate in CONTENTION or passing(error, "the target") is not None:
                raise
            return False
        return True

    def _one(self, change: _Change) -> None:
        import psycopg

        lcr, (text, parameters), number = change
        name = TableName(lcr.owner or "", lcr.name or "")
        try:
            count = self.connection.execute(text.encode(), parameters).rowcount
        except psycopg.Error as error:
            _refuse(error, f"the {lcr.command}", name, number)
        if count == 1:
            return
        with _numbered(number):
            raise _not_one(lcr, name, count)


def _as_role(statements: Iterable[str], text: str, role: str | None) -> Iterator[str]:
    """Yield statements, the one with this text as a role. What they set lasts as long as their transaction."""
    for statement in statements:
        if statement == text and role is not None:
            yield from (role, statement, BACK)
        else:
            yield statement


class _numbered:
    """Inside this `with` an ApplyError gets the number of the message that it is about."""

    def __init__(self, number: int | None) -> None:
        self.number = number

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: object) -> None:
        if isinstance(error, ApplyError):
            error.about_message(self.number)


def _not_one(lcr: RowLcr, name: TableName, count: int) -> ApplyError:
    if count == 0:
        return ApplyError(
            f"no data found: the target has no row for the {lcr.command}",
            code="APL-101",
            table=name,
            hint="`ddlrepl errors show` shows the LCR and the target's row; write the row there, then retry, or delete"
            " the error",
        )
    return ApplyError(
        f"too many rows: {count} rows of the target are meant by one {lcr.command}",
        code="APL-102",
        table=name,
        hint="the target's table needs a primary key; remove the rows that are too many, then retry",
    )


def _refuse(error: Any, what: str, table: object, number: int | None) -> NoReturn:
    """Raise a driver's error as one about a message; what is the server's trouble passes as it is."""
    if error.sqlstate in CONTENTION:
        raise error
    if (trouble := passing(error, "the target")) is not None:
        raise trouble from error
    detail = f" ({error.diag.message_detail})" if error.diag.message_detail else ""
    raise ApplyError(
        f"the target refuses {what}: {error.diag.message_primary or str(error)}{detail}",
        number=number,
        sqlstate=error.sqlstate or "",
        code="APL-103",
        table=table,
        hint="mend it at the target, then retry: `ddlrepl errors retry`",
    ) from None
