"""This module calls the custom functions of rules: Python functions from a channel's allow-list."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from operator import attrgetter
from typing import Any

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.streams.messages import DdlLcr, Message, RowLcr, UserMessage
from airflow_ddlrepl.streams.queue.call_context import CallContext, called_by
from airflow_ddlrepl.streams.rules.client import Client
from airflow_ddlrepl.streams.rules.function_use import FunctionCounts, FunctionUse, uses
from airflow_ddlrepl.time_limit import TimeLimit

MOST_MESSAGES = 1024
"""How many messages a function may give for one."""
SECONDS = 60.0
BATCHES = "takes_batches"
"""The attribute of functions that take batches of rows."""
_FIXED = ("scn", "commit_scn", "transaction_id", "source_time", "source_database", "message_class", "extra", "tag")
"""What an LCR has of its change at the source: whatever a function sets, the result has what the original had."""
_facts = attrgetter(*_FIXED)


@dataclass(frozen=True, slots=True)
class CustomFunctions:
    """The custom functions of a channel are its allow-list: the name that rules use, and where the function is.

    listed: `module:function` by name. seconds: how long a call may take. caller: who calls them; None: nobody knows.
    counts: how often they were called for it.
    """

    listed: Mapping[str, str] = field(default_factory=dict)
    seconds: float = SECONDS
    caller: CallContext | None = None
    counts: FunctionCounts = field(default_factory=FunctionCounts, compare=False, repr=False)

    def of_client(self, client: Client, user: str) -> CustomFunctions:
        """Return the functions as a client calls them, which works as this user; its calls are counted from now on."""
        return replace(self, caller=CallContext(client.name, client.kind, user), counts=FunctionCounts())

    @property
    def user(self) -> str:
        """Return the user that the caller works as; empty: nobody knows the caller."""
        return self.caller.user if self.caller is not None else ""

    @property
    def uses(self) -> tuple[FunctionUse, ...]:
        """Return which functions the caller has called so far."""
        caller = self.caller
        return uses(caller.client, caller.kind, caller.user, self.counts.to_json()) if caller is not None else ()

    def require(self, names: Iterable[str]) -> None:
        """Raise RuleError RUL-134 for the first name that is not listed, RUL-135 for one that can't be imported."""
        for name in names:
            self.function(name)

    def place(self, name: str) -> str:
        """Return where the function of a name is, as module:function. Raises RuleError RUL-134."""
        where = self.listed.get(name)
        if where is None:
            raise RuleError(
                f"function {name} is not on the channel's list",
                code="RUL-134",
                hint=f"`streams: functions: {{{name}: package.module:function}}` lets rules and handlers call it",
            )
        return where

    def function(self, name: str) -> Callable[..., Any]:
        """Return the function of a name. Raises RuleError RUL-134 and RUL-135."""
        where = self.place(name)
        module, _, attribute = where.partition(":")
        try:
            found = getattr(import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise RuleError(
                f"function {name} can't be imported from {where}: {error}",
                code="RUL-135",
                hint="install the module where the tasks run, or correct `streams: functions`",
            ) from None
        if not callable(found):
            raise RuleError(f"{where} is no function", code="RUL-135", hint="correct `streams: functions`")
        return found  # type: ignore[no-any-return]

    def version(self, name: str) -> str:
        """Return a text that differs where a function is another one, or its own text in Python has changed.

        The text of a function that is not written in Python, or can't be imported here, is not known.
        """
        try:
            text = inspect.getsource(self.function(name))
        except (RuleError, OSError, TypeError):
            text = ""
        return f"{self.listed.get(name)} {text}"

    def called(self, name: str, message: Message, *, is_array: bool) -> list[Message]:
        """Return what a function gives for a message: one message, or with `is_array` any number of them.

        Raises RuleError RUL-136 for what it must not give, RUL-137 where it raises or takes too long.
        """
        with self.calling(name, is_array=is_array) as call:
            return call(message)

    @contextmanager
    def calling(self, name: str, *, is_array: bool) -> Iterator[Callable[[Message], list[Message]]]:
        """Yield what calls a function for many messages in turn, each as `called` does."""
        function = called_by(self.caller, self.function(name))
        with TimeLimit(self.seconds) as limit:

            def call(message: Message) -> list[Message]:
                try:
                    given = limit(function, message)
                except Exception as error:
                    raise _failed(name, what_of(message), error) from error
                if is_array and not isinstance(given, list | tuple):
                    raise refused(name, what_of(message), "no list of messages")
                found: Sequence[Any] = given if is_array else (given,)
                if len(found) > MOST_MESSAGES:
                    what = f"{len(found)} messages, and {MOST_MESSAGES} are the most"
                    raise refused(name, what_of(message), what)
                left = [_allowed(name, message, one) for one in found]
                self.counts.add(name, 1, left == [message])
                return left

            yield call

    def takes_batches(self, name: str) -> bool:
        """Return whether a function takes batches of rows, as `streams.queue.functions.takes_batches` marks it."""
        return bool(getattr(self.function(name), BATCHES, False))

    def called_with_batch(self, name: str, batch: Any, what: str) -> Any:
        """Return what a function gives for a batch of rows. Raises RuleError RUL-137 where it raises or takes too long.

        what: the rows, in words.
        """
        function = called_by(self.caller, self.function(name))
        try:
            with TimeLimit(self.seconds) as limit:
                return limit(function, batch)
        except Exception as error:
            raise _failed(name, what, error) from error


def _failed(name: str, what: str, error: Exception) -> RuleError:
    return RuleError(
        f"function {name} failed for {what}: {type(error).__name__}: {error}",
        code="RUL-137",
        hint="correct the function, or take it from the rule; the message waits",
    )


def _allowed(name: str, before: Message, after: Any) -> Message:
    """Return a function's result with what it can't change. Raises RuleError RUL-136."""
    if not isinstance(after, RowLcr | DdlLcr | UserMessage):
        raise refused(name, what_of(before), f"a {type(after).__name__}, no message")
    if isinstance(before, UserMessage):
        return replace(after, message_class=before.message_class)
    if isinstance(after, UserMessage):
        raise refused(name, what_of(before), "a user message, and an LCR stays one")
    if type(after) is not type(before):
        raise refused(name, what_of(before), "another kind of LCR")
    if after.tag not in (None, before.tag):
        raise refused(name, what_of(before), "another tag, which a transaction has as a whole")
    fixed = _facts(before)
    return after if _facts(after) == fixed else replace(after, **dict(zip(_FIXED, fixed, strict=True)))


def refused(name: str, of: str, what: str, hint: str = "") -> RuleError:
    """Return the error for what a function must not give. of: the message; what: that it gave, in words."""
    return RuleError(
        f"function {name} gave {what} for {of}",
        code="RUL-136",
        hint=hint or "a function gives a message of the same kind: a row change, a DDL statement, a user message",
    )


def what_of(message: Message) -> str:
    """Return a message in words."""
    if isinstance(message, UserMessage):
        return f"a message {message.type}"
    return f"{message.command} of {message.owner}.{message.name}"


NO_FUNCTIONS = CustomFunctions()
