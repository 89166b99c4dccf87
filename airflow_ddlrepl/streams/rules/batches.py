"""This module evaluates a client's rules for the rows of a table at once, by kernels of Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from airflow_ddlrepl.streams.condition import tree
from airflow_ddlrepl.streams.evaluation.keys import KeyIndex
from airflow_ddlrepl.streams.evaluation.reduce import Facts, reduced
from airflow_ddlrepl.streams.evaluation.row_batch import RowBatch, RowClass
from airflow_ddlrepl.streams.evaluation.row_numbers import Program, first_true
from airflow_ddlrepl.streams.rules.client import Client
from airflow_ddlrepl.streams.rules.rule import Rule, RuleSet
from airflow_ddlrepl.streams.rules.split import SplitRule, split_rule

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


class _Ordered:
    """The rules of a rule set as they are tried: those with an action first; an index finds those of a table."""

    def __init__(self, rules: RuleSet | None) -> None:
        found = list(rules.rules.values()) if rules is not None else []
        self.rules = sorted(found, key=lambda rule: not rule.action.changes_messages)
        self.index = KeyIndex(rule.condition for rule in self.rules)
        self.split: list[SplitRule | None] = [None] * len(self.rules)

    def active(self, batch: RowBatch, attributes: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the numbers of the rules that values of rows decide, up to one that is true for all of them."""
        return tuple(self._active(batch, attributes))

    def _active(self, batch: RowBatch, attributes: Mapping[str, Any]) -> Iterator[int]:
        for number in self.index.of(batch.owner, batch.name):
            split = self.split[number]
            if split is None:
                split = self.split[number] = split_rule(self.rules[number])
            if split.may_be_true(attributes):
                yield number
                if split.rest is None:
                    return

    def rest(self, number: int) -> SplitRule:
        """Return a rule that `active` has found."""
        found = self.split[number]
        assert found is not None
        return found


class BatchEvaluator:
    """A batch evaluator decides which rows of a table's batches a client takes; rules for other tables cost nothing.

    The names of the table, the kind of change and the tag decide which rules are looked at. What these say of values is
    compiled once for all tables with the same columns.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._positive = self._negative = _Ordered(None)
        self._active: dict[tuple[Any, ...], tuple[tuple[int, ...], tuple[int, ...]]] = {}
        self._programs: dict[tuple[Any, ...], Program] = {}
        self._compiled_for: tuple[tuple[RuleSet | None, int], ...] = ()

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
        """Begin again when a rule set has changed."""
        positive, negative = self._client.positive, self._client.negative
        now = tuple((rules, -1 if rules is None else rules.version) for rules in (positive, negative))
        if now != self._compiled_for:
            self._compiled_for, self._programs, self._active = now, {}, {}
            self._positive, self._negative = _Ordered(positive), _Ordered(negative)

    def _program(self, batch: RowBatch, rows: RowClass) -> Program:
        """Return the program for rows of a batch; tables whose rules say the same of the same columns share it."""
        names = (batch.owner, batch.name, batch.source_database, rows.tag)
        key = (*names, rows.command)
        active = self._active.get(key)
        if active is None:
            attributes = batch.attributes_of(rows)
            negative, positive = (one.active(batch, attributes) for one in (self._negative, self._positive))
            active = self._active[key] = (negative, positive)
        used = [self._negative.rest(number) for number in active[0]] + [self._positive.rest(n) for n in active[1]]
        depends = any(one.depends_on_names for one in used)
        program_key = (active, batch.layout, rows.command, names if depends else None)
        found = self._programs.get(program_key)
        if found is None:
            found = self._programs[program_key] = self._compiled(active, batch.facts(rows))
        return found

    def _compiled(self, active: tuple[tuple[int, ...], tuple[int, ...]], facts: Facts) -> Program:
        steps: list[tuple[int, tree.Truth]] = []
        discarding = [(DISCARDED, self._negative.rest(number)) for number in active[0]]
        taking = [(number, self._positive.rest(number)) for number in active[1]]
        for number, rule in (*discarding, *taking):
            rest = tree.Known(True) if rule.rest is None else reduced(rule.rest, facts)
            if isinstance(rest, tree.Known):
                if rest.value:
                    return Program(tuple(steps), number)
                continue
            steps.append((number, rest))
        if self._client.positive is None:
            return Program(tuple(steps), WITHOUT_RULE)
        return Program(tuple(steps) if any(number >= 0 for number, _ in steps) else (), DISCARDED)
