"""This module follows the action contexts of rules, which scripts fill with pairs of a name and a value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_ddlrepl.sql import lexical
from airflow_ddlrepl.streams.calls.apply_procedures import SetEnqueueDestination, SetExecute
from airflow_ddlrepl.streams.calls.procedure import Procedure
from airflow_ddlrepl.streams.calls.transformations import SetRuleTransformFunction
from airflow_ddlrepl.streams.rules.apply_settings import ENQUEUE, EXECUTE
from airflow_ddlrepl.streams.rules.rule import ARRAY_TRANSFORM_FUNCTION, TRANSFORM_FUNCTION, ActionContext
from airflow_ddlrepl.streams.script.expressions import Argument, Unknown

_STORED = re.compile(r"\bRULE_ACTION_CONTEXT\s+(?:BULK\s+COLLECT\s+)?INTO\s+(\w+)", re.IGNORECASE)
_IS_TOUCHED = r"(?<![\w$#.]){}\s*(?::=\s*+(?!SYS\s*\.\s*RE\$NV_LIST|RE\$NV_LIST)|\.\s*ADD_PAIR)"
_REMOVED = r"(?<![\w$#.]){}\s*\.\s*REMOVE_PAIR\s*\(\s*(TEXT|[\w$#]+)\s*\)".replace("TEXT", lexical.PLAIN_TEXT)
_METHOD = re.compile(r"(.+)\.(ADD_PAIR|REMOVE_PAIR)")


@dataclass(slots=True)
class ActionPairs:
    """The pairs of an action context. is_added: the rule has others, which stay. unknown: why they are not known."""

    pairs: dict[str, Any] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    is_added: bool = False
    unknown: str = ""

    def change(self, method: str, arguments: tuple[Argument, ...]) -> None:
        """Add a pair, or remove one."""
        values = [one.value for one in arguments]
        name = values[0] if values else None
        if not isinstance(name, str) or isinstance(values[-1], Unknown) or len(values) != 1 + (method == "ADD_PAIR"):
            self.unknown = "a pair of it is computed when the script runs"
        elif method == "ADD_PAIR":
            self.pairs[name.upper()] = values[1]
        else:
            self.pairs.pop(name.upper(), None)
            self.removed.append(name.upper())


def changed_context(name: str, variables: dict[str, Any]) -> tuple[ActionPairs, str] | None:
    """Return the context and the method that a call of this name is one of; None: it is another call."""
    found = _METHOD.fullmatch(name)
    context = variables.get(found[1]) if found else None
    return (context, found[2]) if found is not None and isinstance(context, ActionPairs) else None


def stored_contexts(text: str) -> Iterator[str]:
    """Yield the variables that a query gives the action context of a rule that is there."""
    yield from (found[1].upper() for found in _STORED.finditer(text))


def skip(name: str, context: ActionPairs, text: str, variables: dict[str, Any]) -> None:
    """Take note of what IF and the like, which are skipped, do with a context; it is unknown where the run decides.

    `IF context IS NULL` makes a new one or takes pairs away, as the manual has it: the result is the same.
    """
    named = re.escape(name)
    removed = re.findall(_REMOVED.format(named), text, re.IGNORECASE)
    values = [variables.get(one.upper(), one.strip("'")) if one[:1] != "'" else one.strip("'") for one in removed]
    asks_for_null = re.match(rf"\s*IF\s*\(?\s*{named}\s+IS\s+(?:NOT\s+)?NULL\b", text, re.IGNORECASE)
    if re.search(_IS_TOUCHED.format(named), text, re.IGNORECASE) or (removed and not asks_for_null):
        context.unknown = "the run decides about a pair of it"
    elif not all(isinstance(one, str) for one in values):
        context.unknown = "a pair of it is computed when the script runs"
    else:
        context.removed += [str(one).upper() for one in values]


def replacing(context: ActionPairs, before: ActionContext) -> ActionPairs:
    """Return the pairs of a context that takes the place of a rule's own. Raises ValueError for what would be lost."""
    if context.is_added:
        return context
    if before.declared or before.subset is not None:
        raise ValueError("it would take away the transformations that the rule has: add pairs to those of DBA_RULES")
    return replace(context, removed=[*context.removed, *(name for name in before.pairs if name not in context.pairs)])


def calls_of(rule: str, context: ActionPairs) -> Iterator[Procedure]:
    """Yield the calls that give a rule these pairs. Raises ValueError for pairs that no call makes."""
    if context.unknown:
        raise ValueError(context.unknown)
    for name in context.removed:
        if name in _MAKING and name not in context.pairs:
            yield _MAKING[name](rule, None)
    for name, value in context.pairs.items():
        if name not in _MAKING:
            raise ValueError(f"the pair {name} does nothing here: leave it out; known are {', '.join(_MAKING)}")
        yield _MAKING[name](rule, value)


def _function(rule: str, value: Any) -> Procedure:
    return SetRuleTransformFunction(rule_name=rule, transform_function=value)


def _array_function(rule: str, value: Any) -> Procedure:
    return SetRuleTransformFunction(rule_name=rule, transform_function=value, is_array=value is not None)


def _queue(rule: str, value: Any) -> Procedure:
    return SetEnqueueDestination(rule_name=rule, destination_queue_name=value)


def _execute(rule: str, value: Any) -> Procedure:
    return SetExecute(rule_name=rule, execute=str(value).upper() != "NO")


_MAKING = {
    TRANSFORM_FUNCTION: _function,
    ARRAY_TRANSFORM_FUNCTION: _array_function,
    ENQUEUE: _queue,
    EXECUTE: _execute,
}
"""The pairs that mean something to a client, and the calls that make them."""
