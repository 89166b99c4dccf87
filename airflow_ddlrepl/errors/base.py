"""An error of the product says what happened, where, and what to do next.

It has a stable code, survives pickling (Spark ships it between processes) and maps to one exit code of the command
line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from typing import Any, Required, Self, TypedDict, TypeVar

from airflow_ddlrepl.visible import continued, one_line, visible

Kind = TypeVar("Kind", bound="DdlReplError")


class Exit(IntEnum):
    """An exit code says how the command `ddlrepl` ended; scripts rely on these numbers."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    CONTROL = 3
    UNREACHABLE = 4


class DdlReplError(Exception):
    """This error says what went wrong and what a person can do about it.

    code: stable, e.g. "SRC-101"; people look it up, code catches an error by its class. target/table/at: where it
    happened, and the log position, when known. hint: the next step. retryable: the same call may succeed later without
    any change.
    """

    exit_code = Exit.FAILED
    is_local = False
    """It concerns one target or one stage, and the others of the run go on; else it ends the whole run."""
    suspends_table = False
    """The table that it is about can be suspended at its target, and the others go on."""
    disables_client = False
    """It stops a client of Streams until a rule, a transformation, a function or rows are changed."""
    lists_lines = False
    """The message has several lines, about a person's file."""
    missing = ""
    """What a server lacks: a function with the types of its arguments, or a sort and a name; else empty."""
    table_id: int | None = None
    """Of the table, where that is known: another one may have its name before and after."""
    client = ""
    """Of Streams, which has failed, in words; empty: none."""
    others: tuple[DdlReplError, ...] = ()
    """What else has failed in the same run."""

    def __init__(
        self,
        message: str,
        *,
        code: str,
        target: object = None,
        table: object = None,
        at: object = None,
        hint: str = "",
        retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.target = _text(target)
        self.table = _text(table)
        self.at = _text(at)
        self.hint = hint
        self.retryable = retryable

    def about(
        self, *, target: object = None, table: object = None, table_id: int | None = None, client: str = ""
    ) -> Self:
        """Fill in what the error is about, where that is not known yet, on its way out; return the error."""
        self.target = self.target or _text(target)
        self.table = self.table or _text(table)
        self.table_id = table_id if self.table_id is None else self.table_id
        self.client = self.client or client
        return self

    def with_others(self, others: Iterable[DdlReplError]) -> Self:
        """Add what else has failed in the same run, each failure once; return the error.

        What these errors brought from a part of the run is added with them, and what this one brought stays.
        """
        failed: list[DdlReplError] = [self, *others]
        found = {str(one): one for each in failed for one in (each, *each.others)}
        self.others = tuple(one for text, one in found.items() if text != str(self))
        for one in self.others:
            one.others = ()
        return self

    def caused_by(self, cause: BaseException | None) -> Self:
        """Name the exception that led to the error, where it is not raised from there; return the error."""
        self.__cause__ = cause
        return self

    def replaced(self, **facts: Any) -> Self:
        """Return an error of the same class, cause and traceback with other facts, such as its message or hint."""
        unknown = [name for name in facts if not hasattr(self, name)]
        if unknown:
            raise TypeError(f"{type(self).__name__} has no {', '.join(unknown)}")
        found = rebuilt(type(self), {**self.__dict__, **facts})
        found.__cause__, found.__suppress_context__ = self.__cause__, self.__suppress_context__
        return found.with_traceback(self.__traceback__)

    def __str__(self) -> str:
        target = self.target if self._lacks_target else None
        known = (("target", target), ("table", self.table), ("at", self.at))
        place = "".join(f" [{label} {value}]" for label, value in known if value)
        hint = f"\n  hint: {continued(self.hint)}" if self.hint else ""
        message = self._message_with_client
        shown = visible(message) if self.lists_lines else continued(message)
        return f"{self.code}: {shown}{one_line(place)}{hint}"

    @property
    def message_with_names(self) -> str:
        """Return the message, with the target and the client before it that it is about and does not name."""
        message = self._message_with_client
        return f"target {self.target}: {message}" if self._lacks_target else message

    @property
    def _message_with_client(self) -> str:
        return f"{self.client}: {self.message}" if self.client and not self._has(self.client) else self.message

    @property
    def _lacks_target(self) -> bool:
        return bool(self.target) and not self._has(f"target {self.target}")

    def _has(self, words: str) -> bool:
        """Return whether the message names something by these words."""
        return re.search(rf"\b{re.escape(words)}(?![\w-])", self.message) is not None

    def __reduce__(self) -> tuple[Any, ...]:
        return (rebuilt, (type(self), dict(self.__dict__)))


def rebuilt(kind: type[Kind], state: Mapping[str, Any]) -> Kind:
    """Return an error of a class with these attributes, as in the process that it comes from."""
    error = kind.__new__(kind)
    Exception.__init__(error, state["message"])
    error.__dict__.update(state)
    return error


@contextmanager
def identified(ids: Mapping[str, int]) -> Iterator[None]:
    """Add to an error that is raised inside the `with` the id of the table that it names. ids: by name."""
    try:
        yield
    except DdlReplError as error:
        if error.table is not None:
            error.about(table_id=ids.get(error.table))
        raise


def _text(value: object) -> str | None:
    return None if value is None else str(value)


class Place(TypedDict, total=False):
    """These are the arguments of every error: an error with more of its own passes them on."""

    code: Required[str]
    target: object
    table: object
    at: object
    hint: str
    retryable: bool
