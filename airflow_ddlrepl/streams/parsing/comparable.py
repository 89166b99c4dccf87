"""This module makes the two sides of a comparison of one kind, as Oracle's implicit conversions of constants do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from airflow_ddlrepl.streams.condition.kinds import Kind, as_number
from airflow_ddlrepl.streams.condition.problems import ConditionProblem
from airflow_ddlrepl.streams.condition.tree import Column, Constant, Value

Learn = Callable[[str, Kind], None]
_HINTS = {
    (Kind.MOMENT, Kind.TEXT): "write TO_DATE('…', 'YYYY-MM-DD') or DATE '…': what a text means as a date is a setting",
    (Kind.TEXT, Kind.NUMBER): "write the number in quotes, or read the column with AccessNumber()",
}


def of_one_kind(values: Sequence[Value], at: int, learn: Learn) -> tuple[Value, ...]:
    """Return the values, with constants converted to the kind of the others.

    learn: called with the name of a column whose kind is unknown, and the kind that it has to be. Raises
    ConditionProblem RUL-103 for values that can't be compared.
    """
    kinds = {one.kind for one in values if one.kind and not isinstance(one, Constant)}
    if not kinds:
        kinds = {one.kind for one in values if one.kind}
    if len(kinds) > 1:
        first, second = sorted(kinds)[:2]
        raise ConditionProblem(at, f"a {first} is compared with a {second}", "RUL-103")
    if not kinds:
        return tuple(values)
    (kind,) = kinds
    for one in values:
        if isinstance(one, Column) and one.kind is None:
            learn(one.name, kind)
    return tuple(converted(one, kind, at) for one in values)


def converted(value: Value, kind: Kind, at: int) -> Value:
    """Return a value as one of this kind. Raises ConditionProblem RUL-103 when it isn't, and is no such constant."""
    if value.kind in (kind, None):
        return value
    if isinstance(value, Constant) and value.kind is Kind.TEXT and kind in (Kind.NUMBER, Kind.RAW):
        try:
            return Constant(as_number(value.value) if kind is Kind.NUMBER else bytes.fromhex(value.value), kind)
        except ValueError:
            raise ConditionProblem(at, f"'{value.value}' is no {_named(kind)}", "RUL-103") from None
    hint = _HINTS.get((kind, value.kind)) if value.kind else None
    raise ConditionProblem(at, f"a {kind} is expected, not a {value.kind}" + (f": {hint}" if hint else ""), "RUL-103")


def _named(kind: Kind) -> str:
    return "number" if kind is Kind.NUMBER else "hexadecimal text"
