"""This module parses the values of a condition: constants, variables, functions, columns."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NoReturn

from airflow_ddlrepl.notation.suggestion import nearest
from airflow_ddlrepl.streams.condition.functions import NOT_THE_SAME_AGAIN
from airflow_ddlrepl.streams.condition.kinds import Kind, as_moment
from airflow_ddlrepl.streams.condition.problems import ConditionProblem
from airflow_ddlrepl.streams.condition.tree import (
    Arithmetic,
    Column,
    Constant,
    Node,
)
from airflow_ddlrepl.streams.parsing.comparable import converted
from airflow_ddlrepl.streams.parsing.function_calls import FunctionParser
from airflow_ddlrepl.streams.parsing.members import MemberParser
from airflow_ddlrepl.streams.parsing.reader import Place
from airflow_ddlrepl.streams.parsing.tokens import NAME, NUMBER, TEXT, WORD, Token

_KEYWORDS = frozenset(
    [
        "AND",
        "OR",
        "NOT",
        "IS",
        "IN",
        "LIKE",
        "BETWEEN",
        "EXISTS",
        "NULL",
        "SELECT",
        "FROM",
        "WHERE",
        "CASE",
        "WHEN",
        "THEN",
        "ELSE",
        "END",
        "ESCAPE",
        "ALL",
        "ANY",
        "SOME",
    ]
)


class ValueParser(MemberParser, FunctionParser):
    """A value parser parses values; `parser.py` parses what stands around them."""

    def unary(self) -> Node:
        """Parse a value, with a sign before it."""
        at = self.token.at
        if self.takes("-") or self.takes("+"):
            is_minus = self.found[self.at - 1].text == "-"
            of = converted(self.value(self.unary(), at), Kind.NUMBER, at)
            if isinstance(of, Constant):
                return Constant(-of.value if is_minus else of.value, Kind.NUMBER)
            return Arithmetic("-", Constant(Decimal(0), Kind.NUMBER), of) if is_minus else of
        if self.takes("PRIOR"):
            raise ConditionProblem(at, "PRIOR is for queries", "RUL-102")
        return self.primary()

    def primary(self) -> Node:
        """Parse a constant, a variable, a function, a column or what stands in parentheses."""
        token = self.token
        self.at += 1
        if token.kind == TEXT:
            if not token.text:
                raise ConditionProblem(token.at, "'' is NULL in Oracle: write IS NULL", "RUL-102")
            return Constant(token.text, Kind.TEXT)
        if token.kind == NUMBER:
            return Constant(Decimal(token.text), Kind.NUMBER)
        if token.is_word("("):
            return self.parenthesis()
        if token.is_word(":"):
            return self.variable()
        if token.kind == NAME or (token.kind == WORD and token.text not in _KEYWORDS):
            return self.named(token)
        if token.is_word("NULL"):
            return Constant(None, None)
        if token.is_word("CASE"):
            return self.case_expression()
        self.at -= 1
        raise self.refuse("a value is expected")

    def named(self, token: Token) -> Node:
        """Parse a function of SQL, a column, or a date in words."""
        if self.is_next("("):
            if token.kind == NAME:
                raise ConditionProblem(token.at, f'"{token.text}" is no function of SQL', "RUL-102")
            self.at += 1
            return self.function(token)
        if token.text in ("DATE", "TIMESTAMP") and token.kind == WORD and self.token.kind == TEXT:
            self.at += 1
            try:
                return Constant(as_moment(self.found[self.at - 1].text), Kind.MOMENT)
            except ValueError as error:
                raise ConditionProblem(self.found[self.at - 1].at, str(error), "RUL-103") from None
        if token.text in NOT_THE_SAME_AGAIN and token.kind == WORD:
            raise ConditionProblem(token.at, f"{token.text} is another value when a change comes again", "RUL-102")
        if self.is_next("."):
            self.dotted(token)
        if self.columns is None:
            hint = "a row's column is :dml.get_value('NEW', '\"NAME\"')"
            raise ConditionProblem(token.at, f"{token.text} is no variable: {hint}", "RUL-104")
        name = token.text if token.kind == NAME else self.case.plain(token.text)
        if name not in self.columns and not self.has_unknown:
            guess = nearest(name, self.columns)
            raise ConditionProblem(token.at, f"the table has no column {name}. {guess}".rstrip(), "RUL-104")
        self.places.append(Place(token.at, token.end, name))
        return Column(name, self.columns.get(name))

    def dotted(self, token: Token) -> NoReturn:
        """Refuse a name with a dot behind it."""
        words = [token.text]
        while self.takes("."):
            words.append(self.token.text)
            self.at += 1
        if self.columns is not None and not self.is_next("("):
            raise ConditionProblem(token.at, f"{'.'.join(words)}: write the column's name alone", "RUL-102")
        raise ConditionProblem(token.at, f"{'.'.join(words)} can't be called or read in a condition here", "RUL-102")

    def check_pattern(self, pattern: str, at: int) -> None:
        """Raise ConditionProblem for a regular expression that is none, or means something else elsewhere."""
        if re.search(r"\[\[[.=:]|\(\?|\\[1-9A-Z]", pattern):
            raise ConditionProblem(at, f"the regular expression {pattern} is not the same everywhere", "RUL-102")
        try:
            re.compile(pattern)
        except re.error as error:
            raise ConditionProblem(at, f"the regular expression {pattern}: {error}") from None
