"""This module reduces a condition by what is known of all rows of a batch: what is left needs their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from airflow_ddlrepl.errors import NotComputed
from airflow_ddlrepl.streams.condition import tree
from airflow_ddlrepl.streams.condition.kinds import Kind
from airflow_ddlrepl.streams.condition.tree import Image, Known
from airflow_ddlrepl.streams.evaluation.messages import Evaluator
from airflow_ddlrepl.streams.messages import Command, UserMessage


class Presence(Enum):
    """A column's presence says in which of the rows it has a value, or a NULL."""

    ALWAYS = "always"
    SOMETIMES = "sometimes"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """What is known of a column: the kind of its values (None: one that conditions can't read), and its presence."""

    kind: Kind | None
    old: Presence
    new: Presence


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts are what is known of the rows of a batch that do the same: attributes by member function, and columns."""

    command: Command
    attributes: Mapping[str, Any]
    columns: Mapping[str, ColumnFacts] = field(default_factory=dict)

    def presence(self, image: Image, column: str, use_old: bool) -> Presence:
        """Return in which rows a row LCR has a column."""
        facts = self.columns.get(column)
        if facts is None:
            return Presence.NEVER
        if image is Image.OLD:
            return facts.old
        if facts.new is Presence.ALWAYS or not use_old or self.command is not Command.UPDATE:
            return facts.new
        if facts.old is Presence.ALWAYS:
            return Presence.ALWAYS
        return facts.new if facts.old is Presence.NEVER else Presence.SOMETIMES


_EVALUATOR = Evaluator(UserMessage(""), {})
_NULL = tree.Constant(None, None)


def reduced(node: tree.Truth, facts: Facts) -> tree.Truth:
    """Return a condition without what the facts decide: `Known` when they decide all of it."""
    match node:
        case tree.All(of):
            return _joined(of, facts, tree.All, ends_with=False)
        case tree.AnyOf(of):
            return _joined(of, facts, tree.AnyOf, ends_with=True)
        case tree.Not(of):
            found = reduced(of, facts)
            return (
                Known(None if found.value is None else not found.value) if isinstance(found, Known) else tree.Not(found)
            )
        case tree.Holds(of):
            found = reduced(of, facts)
            return Known(found.value is True) if isinstance(found, Known) else tree.Holds(found)
        case tree.IsAbsent(_, image, column, use_old, negated):
            presence = facts.presence(image, column, use_old)
            return node if presence is Presence.SOMETIMES else Known((presence is Presence.NEVER) != negated)
    return _with_values(node, facts)


def _joined(
    parts: Iterable[tree.Truth],
    facts: Facts,
    kind: Callable[[tuple[tree.Truth, ...]], tree.Truth],
    *,
    ends_with: bool,
) -> tree.Truth:
    """Reduce parts of an AND, which ends with a FALSE one, or of an OR, which ends with a TRUE one."""
    left: list[tree.Truth] = []
    is_unknown = False
    for part in parts:
        found = reduced(part, facts)
        if not isinstance(found, Known):
            left.append(found)
        elif found.value is ends_with:
            return found
        else:
            is_unknown = is_unknown or found.value is None
    if is_unknown:
        left.append(Known(None))
    if not left:
        return Known(not ends_with)
    return left[0] if len(left) == 1 else kind(tuple(left))


def _with_values(node: tree.Truth, facts: Facts) -> tree.Truth:
    """Reduce a truth about values."""
    match node:
        case tree.Comparison(sign, left, right):
            left, right = _value(left, facts), _value(right, facts)
            found: tree.Truth = tree.Comparison(sign, left, right)
            values: tuple[tree.Value, ...] = (left, right)
            if _NULL in (left, right):
                return Known(None)
        case tree.Among(of, items, negated):
            values = (_value(of, facts), *(_value(one, facts) for one in items))
            found = tree.Among(values[0], values[1:], negated)
        case tree.Between(of, low, high, negated):
            values = (_value(of, facts), _value(low, facts), _value(high, facts))
            found = tree.Between(*values, negated)
        case tree.IsNull(of) | tree.Like(of) | tree.RegexpLike(of):
            values = (_value(of, facts),)
            found = replace(node, of=values[0])  # type: ignore[call-arg]
        case _:
            return node
    if all(isinstance(one, tree.Constant) for one in values):
        return Known(_EVALUATOR.truth(found))
    return found


def _value(node: tree.Value, facts: Facts) -> tree.Value:
    match node:
        case tree.Constant():
            return node
        case tree.Attribute(variable, name, kind):
            if variable != "dml" or name.startswith("extra."):
                return _NULL
            if name not in facts.attributes:
                return node
            value = facts.attributes[name]
            return _NULL if value is None else tree.Constant(value, kind)
        case tree.ColumnValue(_, image, column, _, use_old):
            is_there = facts.presence(image, column, use_old) is not Presence.NEVER
            return node if is_there and facts.columns[column].kind is node.kind else _NULL
        case tree.Field():
            return _NULL
        case tree.Call(name, arguments, kind):
            values = tuple(_value(one, facts) for one in arguments)
            return _computed(tree.Call(name, values, kind), values)
        case tree.Arithmetic(sign, left, right):
            pair = (_value(left, facts), _value(right, facts))
            return _computed(tree.Arithmetic(sign, *pair), pair)
        case tree.Case(conditions, values, otherwise, kind):
            return tree.Case(
                tuple(reduced(one, facts) for one in conditions),
                tuple(_value(one, facts) for one in values),
                _value(otherwise, facts),
                kind,
            )
    return node


def _computed(node: tree.Value, values: tuple[tree.Value, ...]) -> tree.Value:
    """Return what a function of constants gives; one that can't be computed stays, and raises for a row if it must."""
    if not all(isinstance(one, tree.Constant) for one in values):
        return node
    try:
        value = _EVALUATOR.value(node)
    except (ValueError, NotComputed):
        return node
    return tree.Constant(value, None if value is None else node.kind)
