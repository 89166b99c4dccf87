"""This module parses the functions of SQL, CASE and DECODE."""

from __future__ import annotations

from airflow_ddlrepl.notation.suggestion import nearest
from airflow_ddlrepl.streams.condition.functions import FUNCTIONS, NOT_THE_SAME_AGAIN
from airflow_ddlrepl.streams.condition.problems import ConditionProblem
from airflow_ddlrepl.streams.condition.tree import (
    Call,
    Case,
    Comparison,
    Constant,
    IsNull,
    Node,
    Truth,
    Value,
)
from airflow_ddlrepl.streams.parsing import constants
from airflow_ddlrepl.streams.parsing.comparable import converted, of_one_kind
from airflow_ddlrepl.streams.parsing.reader import TokenReader
from airflow_ddlrepl.streams.parsing.tokens import Token


class FunctionParser(TokenReader):
    """A function parser parses what follows the name of a function."""

    def function(self, token: Token) -> Node:
        """Parse the arguments of a function of SQL."""
        if token.text == "DECODE":
            return self.decode(token)
        if token.text in NOT_THE_SAME_AGAIN:
            raise ConditionProblem(token.at, f"{token.text} is another value when a change comes again", "RUL-102")
        if token.text not in FUNCTIONS and token.text not in constants.NAMES:
            known = [*FUNCTIONS, *constants.NAMES, "DECODE", "REGEXP_LIKE"]
            why = nearest(token.text, known) or "docs/streams.md lists the functions"
            raise ConditionProblem(token.at, f"the function {token.text} is not known here: {why}", "RUL-102")
        arguments = self.arguments()
        if token.text in constants.NAMES:
            return constants.computed(token.text, arguments, token.at)
        found = FUNCTIONS[token.text]
        least, most = len(found.takes) - found.optional, None if found.repeats else len(found.takes)
        if len(arguments) < least or (most is not None and len(arguments) > most):
            raise ConditionProblem(token.at, f"{token.text} takes {least} to {most or 'any'} arguments", "RUL-103")
        if None in found.takes:
            values = of_one_kind(arguments, token.at, self.learn)
            kind = next((one.kind for one in values if one.kind), None)
            return Call(token.text, values, kind)
        takes = [kind for kind in found.takes if kind]
        for one, kind in zip(arguments, takes, strict=False):
            self.learns(one, kind)
        values = tuple(converted(one, kind, token.at) for one, kind in zip(arguments, takes, strict=False))
        return Call(token.text, values, found.gives)

    def arguments(self) -> list[Value]:
        """Parse values up to a closing parenthesis, which is passed, too."""
        found: list[Value] = []
        while not self.takes(")"):
            if found:
                self.need(",")
            at = self.token.at
            found.append(self.value(self.sum(), at))
        return found

    def decode(self, token: Token) -> Node:
        """Parse DECODE(value, search, result, … [, otherwise]), for which NULL equals NULL."""
        of, *rest = self.arguments()
        if len(rest) < 2:
            raise ConditionProblem(token.at, "DECODE takes a value, and what to search and to give", "RUL-103")
        otherwise = rest.pop() if len(rest) % 2 else Constant(None, None)
        searched = of_one_kind([of, *rest[::2]], token.at, self.learn)
        results = of_one_kind([*rest[1::2], otherwise], token.at, self.learn)
        conditions: list[Truth] = []
        for one in searched[1:]:
            is_null = isinstance(one, Constant) and one.value is None
            conditions.append(IsNull(searched[0]) if is_null else Comparison("=", searched[0], one))
        kind = next((one.kind for one in results if one.kind), None)
        return Case(tuple(conditions), results[:-1], results[-1], kind)

    def case_expression(self) -> Node:
        """Parse what follows CASE."""
        at = self.token.at
        of = None if self.is_next("WHEN") else self.value(self.sum(), at)
        conditions: list[Truth] = []
        results: list[Value] = []
        while self.takes("WHEN"):
            place = self.token.at
            if of is None:
                conditions.append(self.truth(self.disjunction()))
            else:
                one, other = of_one_kind([of, self.value(self.sum(), place)], place, self.learn)
                conditions.append(Comparison("=", one, other))
            self.need("THEN")
            results.append(self.value(self.sum(), self.token.at))
        results.append(self.value(self.sum(), self.token.at) if self.takes("ELSE") else Constant(None, None))
        self.need("END")
        if not conditions:
            raise ConditionProblem(at, "CASE has no WHEN")
        *values, otherwise = of_one_kind(results, at, self.learn)
        kind = next((one.kind for one in (*values, otherwise) if one.kind), None)
        return Case(tuple(conditions), tuple(values), otherwise, kind)
