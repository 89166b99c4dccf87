"""This module tells a custom function which client calls it, and as which user."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.streams.rules.client import ClientKind


@dataclass(frozen=True, slots=True)
class CallContext:
    """A call context says who calls a custom function: the client's name, its kind, and the user that it works as.

    user: of a capture, that of the connection to the source; of a propagation, the owner of its source queue; of an
    apply process, that of the connection to its target; of a messaging client, who has started the call.
    """

    client: str
    kind: ClientKind
    user: str


_CURRENT: ContextVar[CallContext] = ContextVar("ddlrepl_call_context")


def call_context() -> CallContext:
    """Return who calls the custom function that asks. Raises LookupError where no client is calling one."""
    found = _CURRENT.get(None)
    if found is None:
        raise LookupError("there is no call context: no client is calling a custom function")
    return found


def called_by(context: CallContext | None, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that `call_context` tells its caller while it runs; None: nobody knows the caller."""
    if context is None:
        return function

    def called(argument: Any) -> Any:
        token = _CURRENT.set(context)
        try:
            return function(argument)
        finally:
            _CURRENT.reset(token)

    return called
