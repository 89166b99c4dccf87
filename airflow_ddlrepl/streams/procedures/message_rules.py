"""This module makes rules for user messages; each has an evaluation context of its own."""

from __future__ import annotations

from itertools import pairwise

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.streams.calls.rule_procedures import AddMessagePropagationRule, AddMessageRule
from airflow_ddlrepl.streams.condition.printing import as_name
from airflow_ddlrepl.streams.condition.problems import ConditionProblem
from airflow_ddlrepl.streams.condition.variables import Variable
from airflow_ddlrepl.streams.parsing.parser import parse
from airflow_ddlrepl.streams.parsing.tokens import replaced, tokens
from airflow_ddlrepl.streams.procedures.add_rules import client_of, rule_set_of
from airflow_ddlrepl.streams.procedures.environment import Environment
from airflow_ddlrepl.streams.rules.client import ClientKind
from airflow_ddlrepl.streams.rules.rule import EvaluationContext, Rule


def add_message_rule(call: AddMessageRule | AddMessagePropagationRule, environment: Environment) -> list[Rule]:
    """Make one rule for user messages of a type, with a person's condition over :msg."""
    kind = ClientKind.PROPAGATION
    if isinstance(call, AddMessageRule):
        kind = ClientKind(call.streams_type)
    if kind in (ClientKind.CAPTURE, ClientKind.SYNC_CAPTURE):
        hint = "use it for propagations, apply processes and messaging clients (dequeue)"
        raise RuleError(f"{call.name}: a {kind.words} captures no user messages", code="RUL-110", hint=hint)
    type = environment.name(call.message_type)
    fields = environment.message_types.get(type)
    if fields is None:
        known = ", ".join(environment.message_types) or "none"
        hint = f"declare it with its fields in message_types; known: {known}"
        raise RuleError(f"the message type {type} is not known", code="RUL-116", hint=hint)
    name = environment.made_up("var$_")
    try:
        parse(call.rule_condition, {"msg": Variable(type=type, fields=fields)}, environment.case)
        text = _renamed(call.rule_condition, as_name(name))
        condition = parse(text, {name: Variable(type=type, fields=fields)}, environment.case)
    except ConditionProblem as problem:
        raise problem.located(call.rule_condition, f"rule_condition of {call.name}") from None
    context = EvaluationContext(environment.made_up("evalctx$_"), {name: Variable(type=type, fields=fields)})
    client = client_of(call, environment)
    rules = rule_set_of(client, environment, is_positive=call.inclusion_rule, has_context=False)
    named = call.rule_name or environment.made_up(type.rpartition(".")[2])
    made = environment.add(Rule(named, text, condition, context))
    environment.put(made, rules)
    return [made]


def _renamed(text: str, variable: str) -> str:
    """Return a condition with this variable in the place of :msg."""
    found = tokens(text)
    words = [word for sign, word in pairwise(found) if sign.is_word(":")]
    return replaced(text, [(word, variable) for word in words])
