"""This module defines rules: a condition, the variables that it has, and what is to be done when it is true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.streams.condition import tree
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.condition.problems import ConditionProblem
from airflow_ddlrepl.streams.condition.variables import LCR_VARIABLES, Variables
from airflow_ddlrepl.streams.evaluation.keys import KeyIndex
from airflow_ddlrepl.streams.messages import Command, DdlLcr, Message, RowLcr, UserMessage
from airflow_ddlrepl.streams.rules.apply_settings import ENQUEUE, EXECUTE
from airflow_ddlrepl.streams.transformations.declared import Declared

ROW_SUBSET = "STREAMS$_ROW_SUBSET"
TRANSFORM_FUNCTION = "STREAMS$_TRANSFORM_FUNCTION"
ARRAY_TRANSFORM_FUNCTION = "STREAMS$_ARRAY_TRANS_FUNCTION"
RESERVED = "STREAMS$_"


@dataclass(frozen=True, slots=True)
class EvaluationContext:
    """An evaluation context names the variables that the conditions of rules may use."""

    name: str
    variables: Variables


STREAMS_CONTEXT = EvaluationContext("SYS.STREAMS$_EVALUATION_CONTEXT", LCR_VARIABLES)


@dataclass(frozen=True, slots=True)
class ActionContext:
    """An action context says what the client does when the rule is true.

    pairs: values by name; names that begin with neither STREAMS$_ nor APPLY$_ mean nothing here. declared: the
    declarative transformations.
    """

    pairs: Mapping[str, Any] = field(default_factory=dict)
    declared: tuple[Declared, ...] = ()

    @property
    def subset(self) -> Command | None:
        """Return which of a subset's three rules it is; None: it is none of them."""
        found = self.pairs.get(ROW_SUBSET)
        return None if found is None else Command(found)

    @property
    def function(self) -> str:
        """Return the name of the function that transforms the message; empty when there is none."""
        return str(self.pairs.get(TRANSFORM_FUNCTION) or self.pairs.get(ARRAY_TRANSFORM_FUNCTION) or "")

    @property
    def is_array_function(self) -> bool:
        """Return whether the function gives any number of messages for one."""
        return ARRAY_TRANSFORM_FUNCTION in self.pairs

    @property
    def changes_messages(self) -> bool:
        """Return whether there is anything to be done with the message, or an apply client sends it elsewhere."""
        return bool(self.declared or self.function or {ROW_SUBSET, ENQUEUE, EXECUTE} & self.pairs.keys())

    def with_pair(self, name: str, value: Any) -> ActionContext:
        """Return the context with a pair set by a user. Raises RuleError RUL-114 for a reserved name."""
        if name.upper().startswith(RESERVED):
            raise RuleError(
                f"{name} in an action context is set by procedures alone",
                code="RUL-114",
                hint="use set_rule_transform_function, or the procedures of declarative transformations",
            )
        return replace(self, pairs={**self.pairs, name: value})


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule is a condition with a name. text: as it was written. is_system: a procedure has made its condition.

    variables: the names of those that the condition mentions. types: the message type of each that stands for a user
    message. Every message asks for both.
    """

    name: str
    text: str
    condition: tree.Truth
    context: EvaluationContext = STREAMS_CONTEXT
    action: ActionContext = field(default_factory=ActionContext)
    is_system: bool = False
    variables: frozenset[str] = field(init=False, repr=False, compare=False)
    types: Mapping[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        known = (tree.Attribute, tree.ColumnValue, tree.IsAbsent, tree.Field)
        mentioned = frozenset(one.variable for one in self.condition.walk() if isinstance(one, known))
        object.__setattr__(self, "variables", mentioned)
        types = {name: one.type for name, one in self.context.variables.items() if one.type}
        object.__setattr__(self, "types", types)

    def is_about(self, message: Message) -> bool:
        """Return whether the condition mentions a variable that stands for such a message, or none at all."""
        variables = self.variables
        if isinstance(message, RowLcr | DdlLcr):
            return not variables or ("dml" if isinstance(message, RowLcr) else "ddl") in variables
        return any(self.types.get(one) == message.type for one in variables)


def make_rule(
    name: str,
    text: str | None,
    context: EvaluationContext = STREAMS_CONTEXT,
    case: NameCase = NameCase.UPPER,
) -> Rule:
    """Return a rule whose condition a person has written. Raises RuleError, with the place in the text."""
    from airflow_ddlrepl.streams.parsing.parser import parse  # its library is not where Spark's workers run

    if text is None:
        text = ""
    try:
        return Rule(name, text, parse(text, context.variables, case), context)
    except ConditionProblem as problem:
        raise problem.located(text, f"rule {name}") from None


class RuleSet:
    """A rule set is rules in their order; clients share it. context: of the rules; None when each has its own."""

    def __init__(self, name: str, context: EvaluationContext | None = STREAMS_CONTEXT) -> None:
        self.name = name
        self.context = context
        self.rules: dict[str, Rule] = {}
        self.version = 0
        self._index: tuple[int, KeyIndex, list[Rule]] | None = None
        self._about: dict[tuple[Any, ...], list[Rule]] = {}

    def about(self, message: Message) -> list[Rule]:
        """Return the rules, in their order, that can be true for a message by the names of its object."""
        if isinstance(message, UserMessage):
            return [*self.rules.values()]
        if self._index is None or self._index[0] != self.version:
            rules = [*self.rules.values()]
            self._index, self._about = (self.version, KeyIndex(rule.condition for rule in rules), rules), {}
        base = (message.base_owner, message.base_name) if isinstance(message, DdlLcr) else None
        key = (message.owner, message.name, base)
        found = self._about.get(key)
        if found is None:
            _, index, rules = self._index
            found = self._about[key] = [rules[number] for number in index.of(*key)]
        return found

    def add(self, rule: Rule) -> None:
        """Add a rule, or put another one in the place of that of its name."""
        self.rules[rule.name] = rule
        self.version += 1

    def remove(self, name: str) -> None:
        """Remove a rule. Raises RuleError RUL-113 when the set does not have it."""
        if name not in self.rules:
            raise RuleError(f"rule set {self.name} has no rule {name}", code="RUL-113", hint=f"it has {[*self.rules]}")
        del self.rules[name]
        self.version += 1
