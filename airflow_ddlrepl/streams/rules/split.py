"""This module splits a rule's condition: what names, kinds of changes and tags decide, and what values of rows do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.streams.condition import tree
from airflow_ddlrepl.streams.evaluation.reduce import Facts, reduced
from airflow_ddlrepl.streams.messages import Command
from airflow_ddlrepl.streams.rules.rule import Rule

NAMES = frozenset({"get_object_owner", "get_object_name", "get_source_database_name", "get_tag", "is_null_tag"})
KNOWN = NAMES | {"get_command_type"}
"""The member functions whose values are known of all rows of a class."""


@dataclass(frozen=True, slots=True)
class SplitRule:
    """A split rule is the parts of a row rule's condition, all of which have to be true.

    equal: attributes that have to have these values. other: further parts about known attributes. rest: about values;
    None: there is none. depends_on_names: the rest mentions names or tags, too.
    """

    equal: tuple[tuple[str, Any], ...]
    other: tuple[tree.Truth, ...]
    rest: tree.Truth | None
    depends_on_names: bool

    def may_be_true(self, attributes: Mapping[str, Any]) -> bool:
        """Return whether all parts about known attributes are true."""
        if any(attributes[name] != value for name, value in self.equal):
            return False
        facts = Facts(Command(attributes["get_command_type"]), attributes)
        return all(reduced(part, facts) == tree.Known(True) for part in self.other)


_NEVER = SplitRule((), (tree.Known(False),), None, False)


def split_rule(rule: Rule) -> SplitRule:
    """Split a rule for row changes; one for other messages is never true."""
    variables = rule.variables
    if variables and "dml" not in variables:
        return _NEVER
    equal, other, rest = [], [], []
    for part in _parts(rule.condition):
        if not all(_is_known(node) for node in part.walk() if _reads(node)):
            rest.append(part)
        elif (pair := _equality(part)) is not None:
            equal.append(pair)
        else:
            other.append(part)
    left: tree.Truth | None = None
    if rest:
        left = rest[0] if len(rest) == 1 else tree.All(tuple(rest))
    depends = left is not None and any(isinstance(one, tree.Attribute) and one.name in NAMES for one in left.walk())
    return SplitRule(tuple(equal), tuple(other), left, depends)


def _parts(condition: tree.Truth) -> Iterator[tree.Truth]:
    """Yield the parts of a condition that all have to be true."""
    if isinstance(condition, tree.All):
        for one in condition.of:
            yield from _parts(one)
    else:
        yield condition


def _reads(node: tree.Node) -> bool:
    return isinstance(node, tree.Attribute | tree.ColumnValue | tree.IsAbsent | tree.Field)


def _is_known(node: tree.Node) -> bool:
    return isinstance(node, tree.Attribute) and node.variable == "dml" and node.name in KNOWN


def _equality(part: tree.Truth) -> tuple[str, Any] | None:
    match part:
        case tree.Comparison("=", tree.Attribute(name=name), tree.Constant(value)) if value is not None:
            return name, value
    return None
