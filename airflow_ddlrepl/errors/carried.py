"""An error crosses the borders of processes as JSON with the name of its class, by which the other side catches it.

Pickling, which Spark's tasks use, needs none of this. What is stored under a name stays readable: a class may be added,
but not renamed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_ddlrepl import errors
from airflow_ddlrepl.errors.base import DdlReplError, rebuilt

FIELDS = ("message", "code", "target", "table", "at", "hint", "retryable")
MORE = ("table_id", "client", "missing", "said", "number", "sqlstate", "by_rows", "is_text")
"""Facts that some errors have, or some classes: carried where they are known."""


def kind_name(error: DdlReplError) -> str:
    """Return the name of an error's class; of one that is an engine's own, the class of this package behind it."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__name__ in errors.__all__)


def kind_named(name: str) -> type[DdlReplError]:
    """Return the class of errors with a name; a name that this version does not know is the general one."""
    found = getattr(errors, name) if name in errors.__all__ else None
    return found if isinstance(found, type) and issubclass(found, DdlReplError) else DdlReplError


def is_kind(name: str, *kinds: type[DdlReplError]) -> bool:
    """Return whether the class with a stored name is one of these, or one below them."""
    return issubclass(kind_named(name), kinds)


def error_to_json(error: DdlReplError) -> dict[str, Any]:
    """Return an error as JSON values, with what else has failed in its run."""
    facts = {name: getattr(error, name, None) for name in MORE}
    more = {name: value for name, value in facts.items() if value is not None and value is not False and value != ""}
    found = {"kind": kind_name(error), **{name: getattr(error, name) for name in FIELDS}, **more}
    return {**found, "others": [error_to_json(one) for one in error.others]} if error.others else found


def error_from_json(data: Mapping[str, Any]) -> DdlReplError:
    """Return the error that `error_to_json` wrote; a kind that this version does not know becomes the general one."""
    known = dict(zip(FIELDS, ("", "", None, None, None, "", False)))
    state = {**known, **{name: data[name] for name in (*FIELDS, *MORE) if name in data}}
    found = rebuilt(kind_named(data["kind"]), state)
    return found.with_others(map(error_from_json, data["others"])) if data.get("others") else found
