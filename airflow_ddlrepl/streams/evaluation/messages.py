"""This module evaluates a condition for one message: TRUE, FALSE or unknown (None)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import DivisionByZero
from functools import lru_cache
from typing import Any

from airflow_ddlrepl.errors import NotComputed, RuleError
from airflow_ddlrepl.streams.condition import numbers, tree
from airflow_ddlrepl.streams.condition.functions import FUNCTIONS
from airflow_ddlrepl.streams.condition.kinds import ACCESS, Kind, accessed, without_zone
from airflow_ddlrepl.streams.condition.members import MEMBERS
from airflow_ddlrepl.streams.condition.printing import text_of
from airflow_ddlrepl.streams.condition.tree import Image
from airflow_ddlrepl.streams.messages import Command, DdlLcr, Lcr, Message, RowLcr, UserMessage
from airflow_ddlrepl.time_limit import LimitExceeded, TimeLimit

Answer = bool | None
SECONDS = 10.0
"""A pattern of REGEXP_LIKE has so long for one text: some patterns take for ever for some texts."""
_ABSENT = object()


def holds(condition: tree.Truth, message: Message, types: Mapping[str, str] | None = None) -> Answer:
    """Return whether a condition is true for a message; None: unknown.

    types: the message types of the variables of a rule for user messages. Raises RuleError RUL-118 where a value can't
    be computed.
    """
    return Evaluator(message, types or {}).truth(condition)


class Evaluator:
    """An evaluator answers the parts of conditions for one message."""

    def __init__(self, message: Message, types: Mapping[str, str]) -> None:
        """types: the message type of each variable of a user message."""
        self.message = message
        self.types = types

    def truth(self, node: tree.Truth) -> Answer:
        """Return what a truth is for the message."""
        return _TRUTHS[type(node)](self, node)

    def value(self, node: tree.Value) -> Any:
        """Return what a value is for the message; None: NULL."""
        return _VALUES[type(node)](self, node)

    def column(self, variable: str, image: Image, column: str, use_old: bool) -> Any:
        """Return a column's value in a row LCR; _ABSENT where the LCR lacks it."""
        row = self.message
        if variable != "dml" or not isinstance(row, RowLcr):
            return _ABSENT
        if image is Image.OLD:
            return row.old.get(column, _ABSENT)
        found = row.new.get(column, _ABSENT)
        if found is _ABSENT and use_old and row.command is Command.UPDATE:
            return row.old.get(column, _ABSENT)
        return found


def _attribute(of: Evaluator, node: tree.Attribute) -> Any:
    lcr = of.message
    variable = "dml" if isinstance(lcr, RowLcr) else "ddl" if isinstance(lcr, DdlLcr) else ""
    if node.variable != variable or not isinstance(lcr, Lcr):
        return None
    if node.name == "is_null_tag":
        return "Y" if lcr.tag is None else "N"
    if node.name.startswith("extra."):
        return accessed(lcr.extra.get(node.name.removeprefix("extra.")), node.kind)
    found = getattr(lcr, MEMBERS[node.name].attribute)
    if node.kind is Kind.TEXT:
        return str(found) if found else None
    return without_zone(found) if found is not None and node.kind is Kind.MOMENT else accessed(found, node.kind)


def _column(of: Evaluator, node: tree.ColumnValue) -> Any:
    found = of.column(node.variable, node.image, node.column, node.use_old)
    return None if found is _ABSENT else accessed(found, ACCESS[node.access])


def _field(of: Evaluator, node: tree.Field) -> Any:
    message = of.message
    if not isinstance(message, UserMessage) or of.types.get(node.variable) != message.type:
        return None
    return accessed(message.fields.get(node.name), node.kind)


def _call(of: Evaluator, node: tree.Call) -> Any:
    function = FUNCTIONS[node.name]
    values = [of.value(one) for one in node.arguments]
    if not function.has_nulls and None in values:
        return None
    try:
        return function.run(*values)
    except (ArithmeticError, ValueError) as error:
        raise _not_computed(node, error) from None


def _case(of: Evaluator, node: tree.Case) -> Any:
    for condition, value in zip(node.conditions, node.values, strict=True):
        if of.truth(condition):
            return of.value(value)
    return of.value(node.otherwise)


def _arithmetic(of: Evaluator, node: tree.Arithmetic) -> Any:
    left, right = of.value(node.left), of.value(node.right)
    if left is None or right is None:
        return None
    try:
        return numbers.calculated(node.sign, left, right)
    except (ArithmeticError, ValueError) as error:
        raise _not_computed(node, error) from None


def _not_computed(node: tree.Value, error: Exception) -> NotComputed:
    shown = "division by zero" if isinstance(error, DivisionByZero) else str(error) or type(error).__name__
    return NotComputed(
        f"{text_of(node)} can't be computed: {shown}",
        code="RUL-118",
        hint="change the rule's condition with CASE or NVL",
    )


def compare(sign: str, left: Any, right: Any) -> Answer:
    """Return whether a comparison is true; None where a value is NULL. NaN equals itself and is the greatest number."""
    if left is None or right is None:
        return None
    if numbers.is_nan(left) or numbers.is_nan(right):
        left, right = numbers.is_nan(left), numbers.is_nan(right)
    return bool(_SIGNS[sign](left, right))


def _comparison(of: Evaluator, node: tree.Comparison) -> Answer:
    return compare(node.sign, of.value(node.left), of.value(node.right))


def _is_null(of: Evaluator, node: tree.IsNull) -> Answer:
    return (of.value(node.of) is None) != node.negated


def _is_absent(of: Evaluator, node: tree.IsAbsent) -> Answer:
    return (of.column(node.variable, node.image, node.column, node.use_old) is _ABSENT) != node.negated


def _among(of: Evaluator, node: tree.Among) -> Answer:
    value = of.value(node.of)
    found = _any(compare("=", value, of.value(item)) for item in node.items)
    return _unless(found) if node.negated else found


def _between(of: Evaluator, node: tree.Between) -> Answer:
    value = of.value(node.of)
    found = _all([compare(">=", value, of.value(node.low)), compare("<=", value, of.value(node.high))])
    return _unless(found) if node.negated else found


def _like(of: Evaluator, node: tree.Like) -> Answer:
    value = of.value(node.of)
    return None if value is None else is_like(value, node.pattern, node.escape) != node.negated


def is_like(value: str, pattern: str, escape: str) -> bool:
    """Does a text match a pattern of LIKE? The time grows with their lengths alone, whatever somebody has written."""
    first, *middle = _parts(pattern, escape)
    if not middle:
        return first.fullmatch(value) is not None
    *middle, last = middle
    begin = first.match(value)
    end = len(value) - _length(last)
    if begin is None or end < begin.end() or last.fullmatch(value, end) is None:
        return False
    at = begin.end()
    for part in middle:
        found = part.search(value, at, end)
        if found is None:
            return False
        at = found.end()
    return True


@lru_cache(1024)
def _parts(pattern: str, escape: str) -> tuple[re.Pattern[str], ...]:
    """Return what stands between the `%` of a pattern of LIKE."""
    signs = list(_signs(pattern, escape))
    found = [""]
    for sign in signs:
        if sign == ".*":
            found.append("")
        else:
            found[-1] += sign
    return tuple(re.compile(one, re.DOTALL) for one in found)


@lru_cache(1024)
def _length(part: re.Pattern[str]) -> int:
    """Return how many characters a part without `%` takes."""
    return len(re.sub(r"\\(.)", r"\1", part.pattern, flags=re.DOTALL))


@lru_cache(1024)
def like_pattern(pattern: str, escape: str) -> re.Pattern[str]:
    """Return a pattern of LIKE as a regular expression. escape: empty when there is none."""
    return re.compile("".join(_signs(pattern, escape)), re.DOTALL)


def _signs(pattern: str, escape: str) -> Iterator[str]:
    """Yield each sign of a pattern of LIKE as a regular expression."""
    at = 0
    while at < len(pattern):
        sign = pattern[at]
        if escape and sign == escape and at + 1 < len(pattern):
            at += 1
            yield re.escape(pattern[at])
        else:
            yield {"%": ".*", "_": "."}.get(sign, re.escape(sign))
        at += 1


def _regexp_like(of: Evaluator, node: tree.RegexpLike) -> Answer:
    value = of.value(node.of)
    if value is None:
        return None
    pattern = re.compile(node.pattern, re.IGNORECASE * ("i" in node.flags))
    try:
        with TimeLimit(SECONDS) as limit:
            return limit(pattern.search, value) is not None
    except LimitExceeded:
        raise RuleError(
            f"the pattern {node.pattern!r} of REGEXP_LIKE has no answer for a text of {len(value)} letters: after"
            f" {SECONDS:g} s it was ended",
            code="RUL-162",
            hint="write a pattern without repetitions inside repetitions; the message waits",
        ) from None


def _not(of: Evaluator, node: tree.Not) -> Answer:
    return _unless(of.truth(node.of))


def _unless(value: Answer) -> Answer:
    return None if value is None else not value


def _all(answers: Any) -> Answer:
    found: Answer = True
    for one in answers:
        if one is False:
            return False
        found = None if one is None else found
    return found


def _any(answers: Any) -> Answer:
    found: Answer = False
    for one in answers:
        if one:
            return True
        found = None if one is None else found
    return found


_SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda left, right: left == right,
    "<>": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}
_VALUES: dict[type, Callable[[Evaluator, Any], Any]] = {
    tree.Constant: lambda _of, node: node.value,
    tree.Attribute: _attribute,
    tree.ColumnValue: _column,
    tree.Field: _field,
    tree.Call: _call,
    tree.Case: _case,
    tree.Arithmetic: _arithmetic,
}
_TRUTHS: dict[type, Callable[[Evaluator, Any], Answer]] = {
    tree.Known: lambda _of, node: node.value,
    tree.Comparison: _comparison,
    tree.IsNull: _is_null,
    tree.IsAbsent: _is_absent,
    tree.Among: _among,
    tree.Between: _between,
    tree.Like: _like,
    tree.RegexpLike: _regexp_like,
    tree.Not: _not,
    tree.All: lambda of, node: _all(of.truth(one) for one in node.of),
    tree.AnyOf: lambda of, node: _any(of.truth(one) for one in node.of),
    tree.Holds: lambda of, node: of.truth(node.of) is True,
}
