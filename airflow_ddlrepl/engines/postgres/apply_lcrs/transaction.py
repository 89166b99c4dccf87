"""This module applies row and DDL LCRs in one transaction at a PostgreSQL target, exactly one row for each row LCR."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

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
from airflow_ddlrepl.engines.postgres.apply_lcrs.row_sets import require_apart, row_sets, send_sets
from airflow_ddlrepl.engines.postgres.apply_lcrs.run_as import BACK, role_of
from airflow_ddlrepl.engines.postgres.apply_lcrs.single_rows import (
    Change,
    apply_in_pipeline,
    apply_one,
    numbered,
    refuse,
)
from airflow_ddlrepl.engines.postgres.apply_lcrs.statements import statement_of, table_of
from airflow_ddlrepl.engines.postgres.apply_lcrs.table_layout import TableLayout, read_layout, require_trusted
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.ddl.replay_text import replayed_text
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


@dataclass
class PostgresLcrTransaction(LcrTransaction):
    """This transaction is open on a connection until its session commits it.

    layouts: of the tables that were changed so far, as they are now. trusted: roles that may own what is written to.
    """

    connection: Connection[Any]
    channel: str
    layouts: dict[TableName, TableLayout | None] = field(default_factory=dict)
    trusted: Collection[str] = ()
    _waiting: list[Change] = field(default_factory=list)
    _gives_up: bool = False
    _error: ApplyError | None = None

    @cached_property
    def new_tables(self) -> NewTables:
        return PostgresNewTables(self.connection, self.trusted)

    def row(self, lcr: RowLcr, key_columns: Collection[str], number: int | None = None) -> None:
        self._waiting.append(self._change(lcr, key_columns, number))
        if len(self._waiting) >= AT_ONCE:
            self.flush()

    def give_up_at_errors(self) -> None:
        self._gives_up = True

    def row_at_once(self, lcr: RowLcr, key_columns: Collection[str], number: int | None = None) -> None:
        if self._gives_up:
            self.row(lcr, key_columns, number)
            return
        change = self._change(lcr, key_columns, number)
        self.flush()
        with self._undone():
            apply_one(self.connection, change)

    @contextmanager
    def _undone(self) -> Iterator[None]:
        """Undo what is done inside the `with` after an error, or everything."""
        if not self._gives_up:
            with self.connection.transaction():
                yield
            return
        try:
            yield
        except ApplyError as error:
            self._error = self._error or error
            raise

    def rows_together(self, batches: Sequence[RowBatch], message_class: MessageClass) -> None:
        self.flush()
        require_apart(batches)
        layouts = [self._layout_or_alone(TableName(one.owner, one.name)) for one in batches]
        of_each = (row_sets(batch, of, message_class) for batch, of in zip(batches, layouts, strict=True))
        send_sets(self.connection, chain.from_iterable(of_each))

    def ddl(
        self,
        lcrs: Sequence[DdlLcr],
        search_path: str,
        time_zone: str,
        number: int | None = None,
        run_as: RunAs | None = None,
    ) -> None:
        import psycopg

        lcr = lcrs[0]
        path = search_path or (spell(lcr.current_schema) if lcr.current_schema else "")
        with self._undone():
            self.flush()
            with numbered(number):
                text = text_at_target(lcrs, lcr.current_schema)
                role = role_of(self.connection, lcr, run_as)
            try:
                for statement in _as_role(replayed_text(text, path, time_zone or None, About()), text, role):
                    self.connection.cursor().execute(statement.encode(), binary=statement == text)
            except psycopg.Error as error:
                name = f"{lcr.owner}.{lcr.name}" if lcr.owner else lcr.name
                refuse(error, f"`{text}`", name, number)
            finally:
                self.layouts.clear()
        reach("apply.altered")

    def sql(self, text: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        import psycopg

        with self._undone():
            self.flush()
            try:
                cursor = self.connection.execute(text.encode(), list(parameters) if parameters else None)
                return cursor.fetchall() if cursor.description is not None else []
            except psycopg.Error as error:
                refuse(error, f"`{text}` of a handler", None, None)

    def enqueue(self, payload: str) -> None:
        self.flush()
        try:
            with self.connection.transaction():
                send([payload], self.connection)
        except MessageError as error:
            raise ApplyError(error.message, code="APL-109", hint=error.hint) from error

    def before_handler(self) -> None:
        if not self._gives_up:
            self.flush()

    def flush(self) -> None:
        if self._error is not None:
            raise self._error
        changes, self._waiting = self._waiting, []
        if len(changes) > 1 and apply_in_pipeline(self.connection, changes):
            return
        try:
            for change in changes:
                apply_one(self.connection, change)
        except ApplyError as error:
            self._error = error  # the transaction has failed, whoever catches it
            raise

    def check_constraints(self) -> None:
        """Check what the session has put off to the end. Raises ApplyError APL-103."""
        import psycopg

        try:
            self.connection.execute("SET CONSTRAINTS ALL IMMEDIATE")
        except psycopg.Error as error:
            refuse(error, "the transaction", None, None)

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

    def _change(self, lcr: RowLcr, key_columns: Collection[str], number: int | None) -> Change:
        with numbered(number):
            return Change(lcr, statement_of(lcr, self._layout(table_of(lcr)), key_columns), number)

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


def _as_role(statements: Iterable[str], text: str, role: str | None) -> Iterator[str]:
    """Yield statements, the one with this text as a role. What they set lasts as long as their transaction."""
    for statement in statements:
        if statement == text and role is not None:
            yield from (role, statement, BACK)
        else:
            yield statement
