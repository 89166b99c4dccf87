"""Handlers are functions of a channel's list that an apply client hands messages to instead of applying them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from airflow_ddlrepl.engines import explained
from airflow_ddlrepl.engines.abilities.lcr_target import LcrTransaction
from airflow_ddlrepl.errors import ApplyError
from airflow_ddlrepl.flow.streams.apply_process.allowed_code import NO_CODE, AllowedCode
from airflow_ddlrepl.flow.streams.apply_process.typed_values import TypedValues
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.streams.apply_message import ApplyMessage
from airflow_ddlrepl.streams.messages import DdlLcr, RowLcr, UserMessage
from airflow_ddlrepl.streams.queue.custom_functions import CustomFunctions
from airflow_ddlrepl.streams.queue.exact_texts import with_texts
from airflow_ddlrepl.streams.queue.messages import payload_of
from airflow_ddlrepl.streams.rules.apply_settings import ApplySettings

Typing = Callable[[RowLcr, Table | None], RowLcr]
"""A function that returns a row LCR with Python values in place of texts."""


@dataclass(frozen=True, slots=True)
class HandlerContext:
    """A handler's context works in the transaction in which its message is applied.

    error: of the LCR, for an error handler. client: the apply client's name.
    """

    transaction: LcrTransaction
    client: str
    key_columns: tuple[str, ...] = ()
    schema_path: str = ""
    time_zone: str = ""
    error: ApplyError | None = None

    def execute(self, lcr: RowLcr | DdlLcr) -> None:
        """Apply an LCR: the handler's own, or another one. Raises ApplyError (APL-…): then nothing of it is done."""
        if isinstance(lcr, DdlLcr):
            self.transaction.ddl([lcr], self.schema_path, self.time_zone)
            return
        self.transaction.row_at_once(with_texts(lcr), self.key_columns)

    def sql(self, text: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Run a statement with `%s` for each parameter; return its rows. Raises ApplyError APL-103."""
        return self.transaction.sql(text, parameters)


@dataclass(frozen=True, slots=True)
class Handlers:
    """The handlers of an apply client apply messages in an open transaction, or have the transaction apply them."""

    client: str
    settings: ApplySettings
    functions: CustomFunctions
    typing: Typing
    code: AllowedCode = NO_CODE

    def apply(self, transaction: LcrTransaction, messages: Sequence[ApplyMessage], number: int) -> None:
        """Apply a message; several are the DDL LCRs of one statement. number: of the first in its transaction.

        Raises ApplyError (APL-…) with the number.
        """
        for one in messages:
            if one.queue:
                transaction.enqueue(payload_of(one.message))
        messages = [one for one in messages if one.executes]
        if not messages:
            return
        first = messages[0]
        match first.message:
            case RowLcr() as lcr:
                self._row(transaction, first, lcr, number)
            case DdlLcr():
                lcrs = [one.message for one in messages if isinstance(one.message, DdlLcr)]
                if not self.settings.ddl_handler:
                    self._statement(transaction, first, lcrs, number)
                for at, ddl in enumerate(lcrs if self.settings.ddl_handler else ()):
                    self._called(self.settings.ddl_handler, ddl, self._context(transaction, first), number + at)
            case UserMessage() as message:
                self._user_message(transaction, first, message, number)

    def _statement(self, transaction: LcrTransaction, first: ApplyMessage, lcrs: list[DdlLcr], number: int) -> None:
        try:
            run_as = self.code.required(lcrs[0])
        except ApplyError as error:
            error.about_message(number)
            raise
        transaction.ddl(lcrs, first.schema_path, first.time_zone, number, run_as)

    def read_ahead(self, messages: Iterable[ApplyMessage]) -> None:
        """Make the typed values that handlers will get of these messages."""
        if isinstance(self.typing, TypedValues) and self.settings.dml_handlers:
            tables = {(one.owner, one.name) for one in self.settings.dml_handlers if not one.is_error_handler}
            rows = ((one.message, one.shape) for one in messages if isinstance(one.message, RowLcr))
            self.typing.read_ahead(
                (lcr, shape) for lcr, shape in rows if shape is not None and (lcr.owner, lcr.name) in tables
            )

    def precommit(self, transaction: LcrTransaction, commit_scn: int) -> None:
        """Call the handler for the end of a source's transaction, if there is one."""
        if self.settings.precommit_handler:
            context = HandlerContext(transaction, self.client)
            self._called(self.settings.precommit_handler, commit_scn, context, None)

    def _row(self, transaction: LcrTransaction, one: ApplyMessage, lcr: RowLcr, number: int) -> None:
        handler = self.settings.dml_handler(lcr)
        if handler:
            self._called(handler, self.typing(lcr, one.shape), self._context(transaction, one), number)
            return
        asked = self.settings.dml_handler(lcr, is_error_handler=True)
        if not asked:
            transaction.row(lcr, one.key_columns, number)
            return
        transaction.before_handler()  # what was sent before fails by itself
        try:
            transaction.row_at_once(lcr, one.key_columns, number)
        except ApplyError as error:
            context = replace(self._context(transaction, one), error=error)
            self._called(asked, self.typing(lcr, one.shape), context, number)

    def _user_message(self, transaction: LcrTransaction, one: ApplyMessage, message: UserMessage, number: int) -> None:
        if self.settings.message_handler:
            self._called(self.settings.message_handler, message, self._context(transaction, one), number)
        elif not one.queue:
            raise ApplyError(
                f"apply client {self.client} has no handler for a message {message.type}",
                number=number,
                code="APL-108",
                hint="set `message_handler` in create_apply or alter_apply, or send such messages to a queue"
                " (set_enqueue_destination)",
            )

    def _context(self, transaction: LcrTransaction, one: ApplyMessage) -> HandlerContext:
        return HandlerContext(transaction, self.client, one.key_columns, one.schema_path, one.time_zone)

    def _called(self, name: str, subject: Any, context: HandlerContext, number: int | None) -> None:
        """Call a handler with a message, or the position of a commit; what it raises is the transaction's error."""
        function = self.functions.function(name)
        context.transaction.before_handler()
        try:
            function(subject, context)
        except Exception as error:
            if isinstance(error, ApplyError):
                error.about_message(number)
                raise
            if explained(error) is not None:  # a server's trouble, not the handler's
                raise
            raise ApplyError(
                f"handler {name} failed: {type(error).__name__}: {error}",
                number=number,
                code="APL-106",
                hint="correct the handler, then retry: `ddlrepl errors retry`",
            ) from error
