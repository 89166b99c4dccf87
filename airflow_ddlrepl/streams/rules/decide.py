"""This module decides whether a client takes a message: the negative rule set first, then the positive one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from airflow_ddlrepl.streams.condition import tree
from airflow_ddlrepl.streams.evaluation.messages import holds
from airflow_ddlrepl.streams.messages import Message
from airflow_ddlrepl.streams.rules.client import Client
from airflow_ddlrepl.streams.rules.rule import Rule, RuleSet


class Reason(Enum):
    """A reason is why a client takes a message, or does not."""

    NO_RULE_SET = "the client has no positive rule set"
    POSITIVE = "a positive rule is true"
    NEGATIVE = "a negative rule is true"
    NO_POSITIVE = "no positive rule is true"
    MISSING_COLUMN = "a subset rule needs a column that the change does not have"
    EMPTY = "the positive rule set is empty"
    NOTHING_LEFT = "the statement is about columns alone that the rules of its rows rename or delete"
    NOT_FOR_CLIENT = "the client takes no such messages"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict says whether a client takes a message.

    rule: the one whose action is done, or that discards the message. warnings: of several rules with actions the first
    one counts. evaluated: how many conditions were evaluated, of the negative and of the positive rule set:
    those of rules that can be true for the object.
    """

    is_taken: bool
    reason: Reason
    why: str = ""
    rule: Rule | None = None
    warnings: tuple[str, ...] = field(default=())
    evaluated: tuple[int, int] = (0, 0)


def decide(client: Client, message: Message) -> Verdict:
    """Decide whether the client takes the message."""
    refusal = client.refusal(message)
    if refusal:
        return Verdict(False, Reason.NOT_FOR_CLIENT, refusal)
    negatives = 0
    for rule, answer in _answers(client.negative, message):
        negatives += 1
        if answer:
            why = f"negative rule {rule.name} is true"
            return Verdict(False, Reason.NEGATIVE, why, rule, evaluated=(negatives, 0))
    if client.positive is None:
        return Verdict(True, Reason.NO_RULE_SET, Reason.NO_RULE_SET.value, evaluated=(negatives, 0))
    answers = [(rule, answer) for rule, answer in _answers(client.positive, message)]
    true = [rule for rule, answer in answers if answer]
    evaluated = (negatives, len(answers))
    if not true:
        reason = Reason.NO_POSITIVE if client.positive.rules else Reason.EMPTY
        if any(_lacks_column(rule, message) for rule in client.positive.about(message)):
            reason = Reason.MISSING_COLUMN
        return Verdict(False, reason, f"{reason.value} ({client.positive.name})", evaluated=evaluated)
    acting = [rule for rule in true if rule.action.changes_messages]
    chosen = (acting or true)[0]
    warnings = tuple(_warnings(chosen, acting))
    return Verdict(True, Reason.POSITIVE, f"positive rule {chosen.name} is true", chosen, warnings, evaluated)


def _answers(rules: RuleSet | None, message: Message) -> Iterator[tuple[Rule, bool]]:
    for rule in rules.about(message) if rules is not None else ():
        yield rule, rule.is_about(message) and holds(rule.condition, message, rule.types) is True


def _lacks_column(rule: Rule, message: Message) -> bool:
    """Return whether a subset rule is about the message but for a column that the message does not have."""
    if rule.action.subset is None or not isinstance(rule.condition, tree.All):
        return False
    for part in rule.condition.of:
        if holds(part, message) is not True:
            return isinstance(part, tree.IsAbsent)
    return False


def _warnings(chosen: Rule, acting: list[Rule]) -> Iterator[str]:
    others = [rule.name for rule in acting if rule is not chosen and rule.action != chosen.action]
    if others:
        yield f"{chosen.name} is true, and so is {', '.join(others)} with another action: the first one's is done"
