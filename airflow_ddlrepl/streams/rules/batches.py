"""This module evaluates a client's rules for the rows of a table at once, by SQL over Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from airflow_ddlrepl.streams.condition import tree
from airflow_ddlrepl.streams.evaluation.keys import KeyIndex
from airflow_ddlrepl.streams.evaluation.reduce import Facts, reduced
from airflow_ddlrepl.streams.evaluation.row_batch import RowBatch, RowClass
from airflow_ddlrepl.streams.evaluation.row_numbers import Program, first_true
from airflow_ddlrepl.streams.rules.client import Client
from airflow_ddlrepl.streams.rules.rule import Rule, RuleSet

DISCARDED, WITHOUT_RULE = -1, -2
Numbers = np.ndarray[Any, np.dtype[np.int32]]


@dataclass(frozen=True, slots=True)
class Taken:
    """What a client takes of a batch: for each row the number of its rule, DISCARDED or WITHOUT_RULE."""

    numbers: Numbers
    rules: Sequence[Rule]

    @property
    def is_taken(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return which of the rows are taken."""
        found: np.ndarray[Any, np.dtype[np.bool_]] = self.numbers != DISCARDED
        return found


@dataclass(slots=True)
class _Ordered:
    """The rules of a rule set as they are tried: those with an action first; an index finds those of a table."""

    rules: list[Rule]
    index: KeyIndex = field(init=False)
    version: int = -1

    def __post_init__(self) -> None:
        self.index = KeyIndex(rule.condition for rule in self.rules)


class BatchEvaluator:
    """A batch evaluator decides which rows of a table's batches a client takes; rules for other tables cost nothing.

    What is left of the rules for a table and kind of change is written as SQL once.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._positive = self._negative = _Ordered([])
        self._programs: dict[tuple[Any, ...], Program] = {}
        self._versions: tuple[int, int] = (-2, -2)

    def evaluate(self, batch: RowBatch) -> Taken:
        """Return what the client takes of a batch's rows. Raises RuleError RUL-118 and RUL-119 as conditions do."""
        self._refresh()
        found = np.full(len(batch), DISCARDED, np.int32)
        left: list[tuple[RowClass, Program]] = []
        for rows in batch.classes():
            program = self._program(batch, rows)
            if program.steps:
                left.append((rows, program))
            elif program.otherwise != DISCARDED:
                rows.put(found, program.otherwise)
        if left:
            first_true(batch, left, found)
        return Taken(found, self._positive.rules)

    def _refresh(self) -> None:
        """Compile again when a rule set has changed."""
        positive, negative = self._client.positive, self._client.negative
        versions = (-1 if positive is None else positive.version, -1 if negative is None else negative.version)
        if versions != self._versions:
            self._versions, self._programs = versions, {}
            self._positive, self._negative = _ordered(positive), _ordered(negative)

    def _program(self, batch: RowBatch, rows: RowClass) -> Program:
        key = (*batch.key, rows.facts.command, rows.tag)
        found = self._programs.get(key)
        if found is None:
            found = self._programs[key] = self._compiled(batch, rows.facts)
        return found

    def _compiled(self, batch: RowBatch, facts: Facts) -> Program:
        steps: list[tuple[int, tree.Truth]] = []
        for _number, rest in _left(self._negative, batch, facts):
            if isinstance(rest, tree.Known):
                return Program(tuple(steps), DISCARDED)
            steps.append((DISCARDED, rest))
        if self._client.positive is None:
            return Program(tuple(steps), WITHOUT_RULE)
        for number, rest in _left(self._positive, batch, facts):
            if isinstance(rest, tree.Known):
                return Program(tuple(steps), number)
            steps.append((number, rest))
        return Program(tuple(steps) if any(number >= 0 for number, _ in steps) else (), DISCARDED)


def _ordered(rules: RuleSet | None) -> _Ordered:
    found = list(rules.rules.values()) if rules is not None else []
    return _Ordered(sorted(found, key=lambda rule: not rule.action.changes_messages))


def _left(rules: _Ordered, batch: RowBatch, facts: Facts) -> Iterable[tuple[int, tree.Truth]]:
    """Yield what is left of the rules that can be true for rows of the batch, up to one that is true for all."""
    for number in rules.index.of(batch.owner, batch.name):
        rule = rules.rules[number]
        if rule.variables and "dml" not in rule.variables:
            continue
        rest = reduced(rule.condition, facts)
        if isinstance(rest, tree.Known):
            if rest.value:
                yield number, rest
                return
        else:
            yield number, rest


def evaluators(clients: Mapping[str, Client]) -> dict[str, BatchEvaluator]:
    """Return an evaluator for each client."""
    return {name: BatchEvaluator(client) for name, client in clients.items()}
