"""This module parses a condition in Oracle's syntax, and refuses with its place what can't be evaluated here.

disjunction: conjunction OR …   conjunction: negation AND …   negation: NOT negation | predicate
predicate: EXISTS (SELECT 1 FROM DUAL WHERE disjunction) | REGEXP_LIKE(…) | sum [comparison sum | IN | BETWEEN | LIKE |
IS NULL]   sum: product + - || product …   product: value * / value …   value: see `values.py`
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from airflow_ddlrepl.streams.condition.kinds import Kind
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.condition.problems import ConditionProblem
from airflow_ddlrepl.streams.condition.tree import (
    All,
    Among,
    AnyOf,
    Arithmetic,
    Between,
    Call,
    Column,
    Comparison,
    Holds,
    IsAbsent,
    IsNull,
    Like,
    Node,
    Not,
    RegexpLike,
    Truth,
    Value,
)
from airflow_ddlrepl.streams.condition.variables import LCR_VARIABLES, Variables
from airflow_ddlrepl.streams.parsing.comparable import converted, of_one_kind
from airflow_ddlrepl.streams.parsing.reader import AnyData, Place
from airflow_ddlrepl.streams.parsing.tokens import END, NUMBER
from airflow_ddlrepl.streams.parsing.values import ValueParser

_COMPARISONS = ("=", "<>", "<=", ">=", "<", ">")
MOST_NESTED = 40


def parse(text: str, variables: Variables = LCR_VARIABLES, case: NameCase = NameCase.UPPER) -> Truth:
    """Return the condition of a rule. variables: what `:name` may be. case: of columns that are not in double quotes.

    Raises ConditionProblem with the place of what is wrong: RUL-101 syntax, RUL-102 what has no counterpart, RUL-103
    kinds of values, RUL-104 variables, RUL-105 an empty condition, RUL-106 functions of the other kind of LCR.
    """
    if variables is LCR_VARIABLES:
        return _parse_cached(text, case)
    return _parser(text, variables, None, case).condition()


@lru_cache(4096)
def _parse_cached(text: str, case: NameCase) -> Truth:
    return _parser(text, LCR_VARIABLES, None, case).condition()


@dataclass(frozen=True, slots=True)
class Where:
    """A where is a condition over a table's columns, as of a subset rule. places: where its text names a column."""

    text: str
    condition: Truth
    places: tuple[Place, ...]

    @property
    def columns(self) -> dict[str, Kind]:
        """Return the columns that the condition names, with the kinds of their values."""
        found = [one for one in self.condition.walk() if isinstance(one, Column)]
        return {one.name: one.kind for one in found if one.kind}


def parse_where(text: str, columns: Mapping[str, Kind] | None = None, case: NameCase = NameCase.UPPER) -> Where:
    """Return a condition over a table's columns, as of a subset rule.

    columns: of the table, with their kinds; None: unknown, and a column's kind follows from what it is compared with.
    Raises ConditionProblem, RUL-103 for a column whose kind does not follow from anything.
    """
    known = dict(columns or {})
    while True:
        parser = _parser(text, {}, known, case)
        parser.has_unknown = columns is None
        found = parser.condition()
        learned = {name: kind for name, kind in parser.learned.items() if name not in known}
        known |= learned
        if not learned:
            break
    for place in parser.places:
        if place.column not in known:
            why = f"the type of {place.column} does not follow from the condition: compare it with a constant"
            raise ConditionProblem(place.at, why, "RUL-103")
    return Where(text, found, tuple(parser.places))


def _parser(text: str, variables: Variables, columns: dict[str, Kind] | None, case: NameCase) -> _Parser:
    found = _Parser(text, variables, columns)
    found.case = case
    return found


class _Parser(ValueParser):
    def condition(self) -> Truth:
        if self.found[0].kind == END:
            raise ConditionProblem(0, "it is empty (NULL), which is not supported", "RUL-105")
        found = self.truth(self.disjunction())
        if self.token.kind != END:
            raise self.refuse()
        return found

    def disjunction(self) -> Node:
        return self._joined("OR", AnyOf, lambda: self._joined("AND", All, self.negation))

    def _joined(self, word: str, kind: Callable[[tuple[Truth, ...]], Truth], of: Callable[[], Node]) -> Node:
        first = of()
        if not self.is_next(word):
            return first
        parts = [self.truth(first)]
        while self.takes(word):
            parts.append(self.truth(of()))
        return kind(tuple(parts))

    def negation(self) -> Node:
        if self.takes("NOT"):
            self.deeper()
            found = Not(self.truth(self.negation()))
            self.depth -= 1
            return found
        return self.predicate()

    def predicate(self) -> Node:
        if self.takes("EXISTS"):
            return self.exists()
        if self.takes("REGEXP_LIKE"):
            return self.regular_expression()
        at = self.token.at
        left = self.sum()
        if isinstance(left, Truth):
            return left
        if isinstance(left, AnyData):
            return self.presence(left)
        value = self.value(left, at)
        for sign in _COMPARISONS:
            if self.takes(sign):
                if self.is_next("ALL") or self.is_next("ANY") or self.is_next("SOME"):
                    raise self.refuse("it compares with one value")
                behind = self.token.at
                one, other = self.same([value, self.value(self.sum(), behind)], at)
                return Comparison(sign, one, other)
        if self.takes("IS"):
            negated = self.takes("NOT")
            self.need("NULL")
            return IsNull(value, negated)
        negated = self.takes("NOT")
        if self.takes("IN"):
            return Among(*self.items(value, at), negated)
        if self.takes("BETWEEN"):
            low = self.value(self.sum(), self.token.at)
            self.need("AND")
            one, low, high = self.same([value, low, self.value(self.sum(), self.token.at)], at)
            return Between(one, low, high, negated)
        if self.takes("LIKE"):
            return self.like(value, at, negated)
        if negated:
            raise self.refuse()
        return value

    def presence(self, of: AnyData) -> Truth:
        if not self.takes("IS"):
            raise self.refuse("a value is read with AccessNumber(), AccessVarchar2() …; get_value alone is NULL or not")
        negated = self.takes("NOT")
        self.need("NULL")
        if of.image is None:
            return IsNull(of.accessed("AccessVarchar2"), negated)
        return IsAbsent(of.variable, of.image, of.name, of.use_old, negated)

    def items(self, value: Value, at: int) -> tuple[Value, tuple[Value, ...]]:
        self.need("(")
        if self.is_next("SELECT"):
            raise self.refuse("a condition can't look into tables")
        found = [self.value(self.sum(), self.token.at)]
        while self.takes(","):
            found.append(self.value(self.sum(), self.token.at))
        self.need(")")
        one, *items = self.same([value, *found], at)
        return one, tuple(items)

    def like(self, value: Value, at: int, negated: bool) -> Truth:
        pattern = self.constant_text("LIKE")
        escape = self.constant_text("ESCAPE") if self.takes("ESCAPE") else ""
        if len(escape) > 1:
            raise ConditionProblem(at, "ESCAPE takes one character")
        self.learns(value, Kind.TEXT)
        return Like(converted(value, Kind.TEXT, at), pattern, escape, negated)

    def regular_expression(self) -> Truth:
        self.need("(")
        at = self.token.at
        value = self.value(self.sum(), at)
        self.learns(value, Kind.TEXT)
        self.need(",")
        place = self.token.at
        pattern = self.constant_text("REGEXP_LIKE")
        flags = self.constant_text("REGEXP_LIKE") if self.takes(",") else ""
        self.need(")")
        if set(flags) - set("ic"):
            raise ConditionProblem(place, f"REGEXP_LIKE takes i or c here, not {flags}", "RUL-102")
        self.check_pattern(pattern, place)
        return RegexpLike(converted(value, Kind.TEXT, at), pattern, flags)

    def exists(self) -> Truth:
        self.need("(")
        self.need("SELECT")
        if self.token.kind != NUMBER:
            raise self.refuse("EXISTS takes SELECT 1 FROM SYS.DUAL WHERE …")
        self.at += 1
        self.need("FROM")
        if self.takes("SYS"):
            self.need(".")
        if not self.takes("DUAL"):
            raise self.refuse("a condition can't look into tables")
        self.need("WHERE")
        found = self.truth(self.disjunction())
        self.need(")")
        return Holds(found)

    def sum(self) -> Node:
        return self._arithmetic(("+", "-", "||"), lambda: self._arithmetic(("*", "/"), self.unary))

    def _arithmetic(self, signs: tuple[str, ...], of: Callable[[], Node]) -> Node:
        at = self.token.at
        left = of()
        while sign := next((sign for sign in signs if self.takes(sign)), ""):
            behind = self.token.at
            right = self.value(of(), behind)
            kind = Kind.TEXT if sign == "||" else Kind.NUMBER
            self.learns(right, kind)
            one = self.value(left, at)
            self.learns(one, kind)
            one, right = converted(one, kind, at), converted(right, kind, behind)
            left = Call("||", (one, right), kind) if sign == "||" else Arithmetic(sign, one, right)
        return left

    def same(self, values: list[Value], at: int) -> tuple[Value, ...]:
        return of_one_kind(values, at, self.learn)

    def parenthesis(self) -> Node:
        if self.is_next("SELECT"):
            raise self.refuse("a condition can't look into tables")
        self.deeper()
        found = self.disjunction()
        if self.is_next(","):
            raise self.refuse("a list of values stands behind IN alone")
        self.need(")")
        self.depth -= 1
        return found

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MOST_NESTED:
            raise ConditionProblem(self.token.at, f"it is nested more than {MOST_NESTED} times")
