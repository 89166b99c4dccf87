"""This module is a PostgreSQL database as the target of an apply client: the port of `engines.abilities.lcr_target`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from airflow_ddlrepl.engines.abilities.lcr_target import (
    FeedPosition,
    LcrSession,
    LcrTarget,
    LcrTransaction,
    OpenedSessions,
    QueuedError,
    RowCondition,
)
from airflow_ddlrepl.engines.postgres.apply_lcrs import error_queue, stored_state
from airflow_ddlrepl.engines.postgres.apply_lcrs.outside_rows import rows_outside
from airflow_ddlrepl.engines.postgres.apply_lcrs.parts import are_apart
from airflow_ddlrepl.engines.postgres.apply_lcrs.statements import row_place, table_of
from airflow_ddlrepl.engines.postgres.apply_lcrs.table_layout import TableLayout, read_layout, require_trusted
from airflow_ddlrepl.engines.postgres.apply_lcrs.transaction import PostgresLcrTransaction
from airflow_ddlrepl.engines.postgres.connection.connect import session
from airflow_ddlrepl.engines.postgres.connection.driver import Connection
from airflow_ddlrepl.engines.postgres.connection.lock_retry import limit, patiently
from airflow_ddlrepl.engines.postgres.connection.quoting import qualified, quote
from airflow_ddlrepl.engines.postgres.connection.settings import SPELLING_HERE
from airflow_ddlrepl.engines.postgres.merge.constraints import prepare_session
from airflow_ddlrepl.engines.postgres.owners.trusted_owners import TrustedOwners
from airflow_ddlrepl.engines.postgres.sessions.replication_origin import NoFreeOrigin, Origin, origin_set_up
from airflow_ddlrepl.engines.postgres.sessions.session_names import NAME_SESSION, end_earlier, session_name
from airflow_ddlrepl.engines.postgres.target import apply_tables, state
from airflow_ddlrepl.engines.target_state import Fence
from airflow_ddlrepl.errors import ApplyError
from airflow_ddlrepl.failpoint import reach
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.streams.apply_message import ApplyMessage
from airflow_ddlrepl.streams.evaluation.row_batch import RowBatch
from airflow_ddlrepl.streams.messages import MessageClass, RowLcr
from airflow_ddlrepl.streams.rules.apply_settings import Instantiation

Result = TypeVar("Result")
_RENEW = """
UPDATE ddlrepl.position SET epoch = %s, token = %s WHERE channel = %s AND token <= %s AND epoch < %s
"""


@dataclass
class PostgresLcrTarget(LcrTarget):
    """A PostgreSQL LCR target is one database.

    holder: under which name the channel's state is stored there. trusted: roles that may own what is written to.
    """

    location: str = field(repr=False)
    holder: str
    lock_timeout: float
    connection: Connection[Any]
    trusted: TrustedOwners

    @classmethod
    def open(cls, location: str, holder: str, lock_timeout: float, owners: tuple[str, ...] = ()) -> PostgresLcrTarget:
        """Connect to a target and return it. Raises what `state.opened` raises."""
        opened = state.state_session(location)
        return cls(location, holder, lock_timeout, opened, TrustedOwners(opened, holder, owners))

    def prepare(self, fence: Fence) -> None:
        with session(self.location) as connection:
            end_earlier(connection, self.holder, fence.token)
            state.prepare(connection, self.holder, Position(0), fence.epoch, fence.token)
            with connection.transaction(), connection.cursor() as cursor:
                cursor.execute(_RENEW, [fence.epoch, fence.token, self.holder, fence.token, fence.epoch])
                state.hold(cursor, self.holder, epoch=fence.epoch, token=fence.token)
                for table in apply_tables.STORED:
                    table.ensure(cursor)
                state.with_owners(cursor)
        self.trusted.look_again()

    def positions(self, client: str) -> Mapping[str, FeedPosition]:
        return stored_state.positions(self.connection, self.holder, client)

    def instantiations(self, client: str) -> Sequence[Instantiation]:
        return stored_state.instantiations(self.connection, self.holder, client)

    def existing(self, tables: Collection[TableName]) -> set[TableName]:
        query = "SELECT i FROM unnest(%s::text[]) WITH ORDINALITY n(name, i) WHERE to_regclass(n.name) IS NOT NULL"
        listed = list(tables)
        rows = self.connection.execute(query, [[qualified(one) for one in listed]]).fetchall()
        return {listed[int(number) - 1] for (number,) in rows}

    def rows_outside(
        self, table: TableName, conditions: Sequence[Sequence[RowCondition]], source_database: str
    ) -> int | None:
        require_trusted(self.connection.cursor(), {table: ()}, self.trusted.names)
        return rows_outside(self.connection, table, conditions, source_database)

    def errors(self, client: str = "") -> Sequence[QueuedError]:
        return error_queue.errors(self.connection, self.holder, client)

    def messages(self, number: int, most: int) -> Sequence[ApplyMessage]:
        if not any(one.number == number for one in self.errors()):
            raise error_queue.unknown(number)
        found = error_queue.messages(self.connection, self.holder, number, min(most, 1000))
        return [one for one, _ in zip(found, range(most), strict=False)]

    def current_rows(self, lcr: RowLcr, key_columns: Collection[str], most: int) -> list[dict[str, str | None]]:
        import psycopg

        name = table_of(lcr)
        with self.connection.transaction(), self.connection.cursor() as cursor:
            cursor.execute(SPELLING_HERE.encode())
            require_trusted(cursor, {name: ()}, self.trusted.names)
            layout = read_layout(cursor, name)
            if layout is None:
                raise ApplyError(
                    f"the target has no table {name}", code="APL-104", table=name, hint="create it there, then retry"
                )
            place = row_place(lcr, layout, key_columns)
            columns = ", ".join(f"t.{quote(one)}::text".replace("%", "%%") for one in layout.columns)
            query = f"SELECT {columns} FROM {qualified(name).replace('%', '%%')} t WHERE {place.condition} LIMIT {most}"
            try:
                cursor.execute(query.encode(), place.parameters)
            except psycopg.DataError as error:
                why = str(error).splitlines()[0]
                hint = "the value is of another type there; `ddlrepl errors show` has the LCR"
                raise ApplyError(f"the row can't be looked for: {why}", code="APL-103", table=name, hint=hint) from None
            return [dict(zip(layout.columns, row, strict=True)) for row in cursor.fetchall()]

    @contextmanager
    def session(self, fence: Fence) -> Iterator[LcrSession]:
        with self.sessions(fence, 1) as opened:
            yield opened.sessions[0]

    @contextmanager
    def sessions(self, fence: Fence, most: int) -> Iterator[OpenedSessions]:
        with ExitStack() as opened:
            layouts: dict[TableName, TableLayout | None] = {}
            found = [opened.enter_context(self._session(fence, 1, layouts))]
            why_fewer = ""
            while len(found) < most and not why_fewer:
                try:
                    found.append(opened.enter_context(self._session(fence, len(found) + 1, layouts)))
                except NoFreeOrigin as error:
                    why_fewer = f"{error.message}; {error.hint}"
            yield OpenedSessions(found, why_fewer)

    @contextmanager
    def _session(
        self, fence: Fence, number: int, layouts: dict[TableName, TableLayout | None]
    ) -> Iterator[PostgresLcrSession]:
        """Open one of several sessions that share `layouts`. Raises NoFreeOrigin."""
        with session(self.location, application_name=session_name("apply", self.holder, fence.token)) as connection:
            limit(connection, self.lock_timeout)
            with origin_set_up(connection, self.holder, number) as origin:
                yield PostgresLcrSession(self, connection, fence, origin, layouts)

    def close(self) -> None:
        self.connection.close()


@dataclass
class PostgresLcrSession(LcrSession):
    """This session writes at a PostgreSQL target for one run of an apply client.

    layouts: of the tables as they are now, for all sessions of the run: a statement that one of them runs alters them.
    """

    target: PostgresLcrTarget
    connection: Connection[Any]
    fence: Fence
    origin: Origin
    layouts: dict[TableName, TableLayout | None]

    def run(self, work: Callable[[LcrTransaction], Result]) -> Result:
        def once() -> Result:
            with self.connection.transaction(), self.connection.cursor() as cursor:
                self._hold(cursor)
                result = self._worked(cursor, work)
                self.origin.stamp()
                reach("apply.transaction")
                return result

        with self._undone():
            return patiently(once, self.connection, self.target.location)

    def run_beside(
        self, work: Callable[[LcrTransaction], None], before_commit: Callable[[LcrTransaction], None]
    ) -> None:
        with self._undone(), self.connection.transaction(), self.connection.cursor() as cursor:
            cursor.execute(f"SELECT {NAME_SESSION}".encode())
            self._worked(cursor, work)
            before_commit(self._transaction)
            self.origin.stamp()
            self._hold(cursor)  # last: it is one row for all
            reach("apply.transaction")

    def are_apart(self, parts: Sequence[Sequence[RowBatch]], message_class: MessageClass) -> bool:
        return are_apart(parts, self.layouts, message_class)

    @property
    def _transaction(self) -> PostgresLcrTransaction:
        return PostgresLcrTransaction(self.connection, self.target.holder, self.layouts, self.target.trusted.names)

    def _hold(self, cursor: Any) -> None:
        state.hold(cursor, self.target.holder, epoch=self.fence.epoch, token=self.fence.token)

    def _worked(self, cursor: Any, work: Callable[[LcrTransaction], Result]) -> Result:
        """Do the work in the open transaction, with what belongs to it."""
        enforces = prepare_session(cursor).enforces
        if enforces:  # at the source they were checked at the end, too
            cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        transaction = self._transaction
        result = work(transaction)
        transaction.flush()
        if enforces:
            transaction.check_constraints()
        return result

    @contextmanager
    def _undone(self) -> Iterator[None]:
        """Forget what is known of the target's tables when a transaction fails: what it has altered is undone."""
        try:
            yield
        except BaseException:
            self.layouts.clear()
            raise
