"""This module explains why a client takes a message or not: each rule, and each part of its condition."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.streams.condition import tree
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.condition.printing import constant, text_of
from airflow_ddlrepl.streams.evaluation.keys import KeyIndex
from airflow_ddlrepl.streams.evaluation.messages import Answer, Evaluator
from airflow_ddlrepl.streams.messages import DdlLcr, Message, UserMessage
from airflow_ddlrepl.streams.rules.client import Client
from airflow_ddlrepl.streams.rules.decide import Verdict, decide
from airflow_ddlrepl.streams.rules.rule import Rule, RuleSet
from airflow_ddlrepl.streams.rules.transform import transform
from airflow_ddlrepl.streams.rules.written_messages import written

_WORDS = {True: "true", False: "false", None: "unknown"}


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a condition with what it is for a message. depth: how many parts it is inside of.

    values: what it compares, in words, such as `'OE'`.
    """

    depth: int
    text: str
    answer: Answer
    values: str = ""


@dataclass(frozen=True, slots=True)
class ExplainedRule:
    """An explained rule is a rule's condition for a message, part by part. note: why it can't be true."""

    rule: Rule
    answer: Answer
    parts: tuple[Part, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class ExplainedSet:
    """An explained rule set is its rules that can be true for the message. others: how many more it has.

    side: positive or negative; empty for one that no client has.
    """

    side: str
    rules: RuleSet
    explained: tuple[ExplainedRule, ...]
    others: int

    @property
    def is_true(self) -> bool:
        """Return whether a rule of the rule set is true for the message."""
        return any(rule.answer for rule in self.explained)

    def to_json(self) -> dict[str, Any]:
        """Return the explanation as JSON values."""
        return {
            "side": self.side,
            "name": self.rules.name,
            "true": self.is_true,
            "others": self.others,
            "rules": [_rule_json(rule) for rule in self.explained],
        }

    def lines(self) -> Iterator[str]:
        """Yield the explanation as lines for a person."""
        whose = f"{self.side} rule set {self.rules.name}" if self.side else f"rule set {self.rules.name} (of no client)"
        others = f", {self.others} more for other objects" if self.others else ""
        yield f"  {whose} is {'true' if self.is_true else 'not true'}: {_count(self.explained)}{others}"
        for rule in self.explained:
            yield f"    {rule.rule.name}: {_WORDS[rule.answer]}{f' ({rule.note})' if rule.note else ''}"
            for part in rule.parts:
                values = f"   -- {part.values}" if part.values else ""
                yield f"      {'  ' * part.depth}{_WORDS[part.answer]}: {part.text}{values}"


@dataclass(frozen=True, slots=True)
class ExplainedClient:
    """An explained client is its verdict about a message, with its rule sets.

    becomes: the message as the rule's declared transformations leave it; None: it stays as it is. stops: why these
    can't be done, and the client stops; empty: they can. case: how names are spelled.
    """

    client: Client
    verdict: Verdict
    sets: tuple[ExplainedSet, ...]
    becomes: Message | None = None
    stops: str = ""
    case: NameCase = NameCase.UPPER

    def to_json(self) -> dict[str, Any]:
        """Return the explanation as JSON values."""
        verdict = self.verdict
        return {
            "client": self.client.name,
            "kind": self.client.kind,
            "taken": verdict.is_taken,
            "why": verdict.why or verdict.reason.value,
            "rule": verdict.rule.name if verdict.rule else None,
            "warnings": list(verdict.warnings),
            "becomes": None if self.becomes is None else written(self.becomes, self.case),
            "stops": self.stops or None,
            "function": self._function or None,
            "rule_sets": [one.to_json() for one in self.sets],
        }

    def lines(self) -> Iterator[str]:
        """Yield the explanation as lines for a person."""
        verdict = self.verdict
        does = "takes it" if verdict.is_taken else "discards it"
        yield f"{self.client.words} {does}: {verdict.why or verdict.reason.value}"
        yield from (f"  warning: {text}" for text in verdict.warnings)
        if self.becomes is not None:
            yield f"  it becomes {json.dumps(written(self.becomes, self.case), ensure_ascii=False)}"
        if self.stops:
            yield f"  the client stops there: {self.stops}"
        elif self._function:
            yield f"  then {self._function} is called for it, whose result is not known here"
        for one in self.sets:
            yield from one.lines()

    @property
    def _function(self) -> str:
        """Return the custom function that the client calls for the message; empty: none."""
        rule = self.verdict.rule
        return rule.action.function if rule is not None and self.verdict.is_taken else ""


def _count(rules: Sequence[ExplainedRule]) -> str:
    return "1 rule" if len(rules) == 1 else f"{len(rules)} rules"


def _rule_json(rule: ExplainedRule) -> dict[str, Any]:
    return {
        "name": rule.rule.name,
        "condition": rule.rule.text,
        "true": rule.answer,
        "note": rule.note,
        "parts": [{"depth": p.depth, "text": p.text, "true": p.answer, "values": p.values} for p in rule.parts],
    }


def explain(client: Client, message: Message, case: NameCase = NameCase.UPPER) -> ExplainedClient:
    """Explain what a client does with a message, and what it leaves of it. Raises RuleError RUL-118 as conditions do.

    case: how names are spelled.
    """
    sides = (("negative", client.negative), ("positive", client.positive))
    sets = tuple(explain_set(rules, message, side) for side, rules in sides if rules is not None)
    verdict = decide(client, message)
    try:
        left = transform(message, verdict) if verdict.is_taken else message
    except RuleError as error:
        return ExplainedClient(client, verdict, sets, None, f"{error.code}: {error.message}")
    return ExplainedClient(client, verdict, sets, None if left == message else left, "", case)


def explain_set(rules: RuleSet, message: Message, side: str = "") -> ExplainedSet:
    """Explain which rules of a rule set are true for a message. Raises RuleError RUL-118 as conditions do."""
    found = list(rules.rules.values())
    if not isinstance(message, UserMessage):
        index = KeyIndex(rule.condition for rule in found)
        base = (message.base_owner, message.base_name) if isinstance(message, DdlLcr) else None
        found = [found[number] for number in index.of(message.owner, message.name, base)]
    explained = tuple(_explained(rule, message) for rule in found)
    return ExplainedSet(side, rules, explained, len(rules.rules) - len(explained))


def _explained(rule: Rule, message: Message) -> ExplainedRule:
    if not rule.is_about(message):
        return ExplainedRule(rule, False, (), "it is for other messages")
    evaluator = Evaluator(message, rule.types)
    parts = tuple(_parts(rule.condition, evaluator, 0))
    return ExplainedRule(rule, evaluator.truth(rule.condition), parts)


def _parts(node: tree.Truth, of: Evaluator, depth: int) -> Iterator[Part]:
    """Yield a truth and the truths that it is made of."""
    match node:
        case tree.All(inside) | tree.AnyOf(inside):
            word = "all of" if isinstance(node, tree.All) else "any of"
            yield Part(depth, word, of.truth(node))
            for one in inside:
                yield from _parts(one, of, depth + 1)
        case tree.Not(inside):
            yield Part(depth, "not", of.truth(node))
            yield from _parts(inside, of, depth + 1)
        case tree.Holds(inside):
            yield Part(depth, "is true", of.truth(node))
            yield from _parts(inside, of, depth + 1)
        case _:
            yield Part(depth, text_of(node), of.truth(node), _values(node, of))


def _values(node: tree.Truth, of: Evaluator) -> str:
    """Return the values that a truth is about, but for those that its text shows."""
    values = [one for one in node.children() if isinstance(one, tree.Value) and not isinstance(one, tree.Constant)]
    return ", ".join(constant(of.value(one)) for one in values)
