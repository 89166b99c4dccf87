"""This module defines how an apply client works besides its rules: handlers, parameters, what tables have already."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.model.visibility import Visibility
from airflow_ddlrepl.streams.messages import DdlLcr, MessageClass, RowLcr

DEFAULT = "DEFAULT"
ENQUEUE, EXECUTE = "APPLY$_ENQUEUE", "APPLY$_EXECUTE"
"""In the action context of a rule: the queue that its messages go to; `NO`: they are not applied."""


@dataclass(frozen=True, slots=True)
class DmlHandler:
    """A DML handler is a function for row LCRs of a table. operation: of which command; DEFAULT: of the others.

    function: its name in the channel's list. is_error_handler: it is called when an LCR can't be applied. client: the
    only apply client that has it; empty: all do.
    """

    owner: str
    name: str
    operation: str
    function: str
    is_error_handler: bool = False
    client: str = ""


@dataclass(frozen=True, slots=True)
class Instantiation:
    """An instantiation says which changes of a source a target has already: those that commit at `scn` or before it.

    owner, name: of a table; name empty: of a schema, both empty: of the database. of_rows: of rows; of_ddl: of DDL.
    seen: the transactions that the target has, for changes of a synchronous capture, which have no position in the
    source's log; None: none of them.
    """

    source_database: str
    owner: str
    name: str
    scn: int
    of_rows: bool = True
    of_ddl: bool = True
    seen: Visibility | None = None

    def has(self, lcr: RowLcr | DdlLcr, commit_scn: int) -> bool:
        """Has the target this change already?"""
        if lcr.source_database != self.source_database:
            return False
        if lcr.message_class is MessageClass.PERSISTENT:
            if self.seen is None or not lcr.transaction_id or not self.seen.has(int(lcr.transaction_id)):
                return False
        elif commit_scn > self.scn:
            return False
        if not (self.of_rows if isinstance(lcr, RowLcr) else self.of_ddl):
            return False
        objects = [(lcr.owner, lcr.name)]
        if isinstance(lcr, DdlLcr):
            objects.append((lcr.base_owner, lcr.base_name))
        return any(self.owner in ("", owner) and self.name in ("", name) for owner, name in objects)


@dataclass(frozen=True, slots=True)
class ApplySettings:
    """The settings of an apply client; functions are named as in the channel's list.

    source_database: the only database whose changes it applies; empty: any. parameters: by
    name in lower case. applied: what the target's tables have already.
    """

    ddl_handler: str = ""
    message_handler: str = ""
    precommit_handler: str = ""
    dml_handlers: tuple[DmlHandler, ...] = ()
    source_database: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    applied: tuple[Instantiation, ...] = ()

    @property
    def disables_on_error(self) -> bool:
        """Return whether the client stops at a transaction that fails."""
        return self.parameters.get("disable_on_error", "Y").upper() != "N"

    def given_scn(self, database: str, owner: str, name: str) -> int | None:
        """Return the position that a person has given for the rows of a table of a source; None: none is given."""
        found = [
            one.scn
            for one in self.applied
            if one.of_rows and one.source_database == database
            if one.owner in ("", owner) and one.name in ("", name)
        ]
        return max(found, default=None)

    @property
    def parallelism(self) -> int:
        """Return how many transactions are applied at the same time. Raises RuleError RUL-145 for no such number."""
        text = self.parameters.get("parallelism", "1")
        if not text.isdecimal() or int(text) < 1:
            raise RuleError(
                f"parallelism {text} is no number of transactions", code="RUL-145", hint="write a number from 1 on"
            )
        return int(text)

    @property
    def functions(self) -> set[str]:
        """Return the names of all functions that the handlers are."""
        names = {self.ddl_handler, self.message_handler, self.precommit_handler}
        return {*names, *(one.function for one in self.dml_handlers)} - {""}

    def dml_handler(self, lcr: RowLcr, *, is_error_handler: bool = False) -> str:
        """Return the function for a row LCR: that of its command first; empty: there is none."""
        found = {
            one.operation: one.function
            for one in self.dml_handlers
            if (one.owner, one.name, one.is_error_handler) == (lcr.owner, lcr.name, is_error_handler)
        }
        return found.get(lcr.command, found.get(DEFAULT, ""))

    def for_client(
        self, client: str, handlers: Iterable[DmlHandler], applied: Iterable[Instantiation]
    ) -> ApplySettings:
        """Return the settings with the handlers of an environment that are this client's."""
        own = tuple(one for one in handlers if one.client in ("", client))
        return replace(self, dml_handlers=own, applied=tuple(applied))
