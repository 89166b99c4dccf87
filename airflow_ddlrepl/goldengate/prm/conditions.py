"""Translate WHERE, FILTER and the expressions of COLMAP into row conditions and expressions of a channel file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from airflow_ddlrepl.notation.condition.expression import (
    Among,
    Arithmetic,
    Compare,
    IsNull,
    Joined,
    Minus,
    Named,
    Not,
    Number,
    OfChange,
    Part,
    Text,
    Truth,
)
from airflow_ddlrepl.sql.languages import FORMULA
from airflow_ddlrepl.sql.tokens import Kind, Token, tokens

_COMPARISONS = {"=": "=", "<>": "<>", "!=": "<>", "^=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_TRUE_WHEN = {("=", "1"), (">", "0"), ("<>", "0"), (">=", "1")}
_FALSE_WHEN = {("=", "0"), ("<>", "1"), ("<", "1"), ("<=", "0")}
_STATES = {"@PRESENT", "@ABSENT", "@NULL"}
_OF_KINDS = {"ON", "IGNORE", "RAISEERROR"}
_KNOWS = "known are columns, numbers, texts, comparisons, AND, OR, + - *, @STREQ, @VALONEOF, @COMPUTE, @NULL"
_GETENV = {
    ("GGHEADER", "COMMITTIMESTAMP"): "commit_time",
    ("GGHEADER", "OPTYPE"): "operation",
    ("TRANSACTION", "CSN"): "position",
    ("ORATRANSACTION", "SCN"): "position",
    ("TRANSACTION", "XID"): "transaction",
}
"""What @GETENV tells of a change that has a counterpart among the values of a change."""


class Untranslatable(Exception):
    """This error is something of an expression that has no counterpart. at: its character in the expression's text."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(at, why)
        self.at = at
        self.why = why


class Translated(NamedTuple):
    """A translation is the condition or expression that a text means. in_doubt: texts in double quotes in it."""

    part: Part
    in_doubt: tuple[str, ...] = ()


def translate_condition(text: str, *, is_ansi: bool) -> Translated:
    """Return the row condition that a WHERE or FILTER means. is_ansi: double quotes are around names only.

    Raises Untranslatable.
    """
    reader = _Reader(text, is_ansi=is_ansi)
    found = _truth(reader.disjunction(), 0)
    reader.end()
    return Translated(found, tuple(reader.in_doubt))


def translate_expression(text: str, *, is_ansi: bool) -> Translated:
    """Return the expression that the right side of a COLMAP entry means. Raises Untranslatable."""
    reader = _Reader(text, is_ansi=is_ansi)
    if reader.peek().kind is Kind.NAME and not is_ansi:
        return Translated(reader.as_text(), tuple(reader.in_doubt))
    found = reader.change_value() or reader.sum()
    reader.end()
    if isinstance(found, _Answer):
        raise Untranslatable(0, "a function that answers with 1 or 0 has no counterpart as a value")
    return Translated(found, tuple(reader.in_doubt))


class _Answer(Compare):
    """An answer is the condition that a function of GoldenGate answers with 1 or 0."""


def _truth(part: Part, at: int) -> Part:
    if isinstance(part, _Answer):
        return Compare(part.left, part.sign, part.right)
    if isinstance(part, Compare | Joined | Not | IsNull | Among | Truth):
        return part
    if isinstance(part, Named | Arithmetic):
        return Compare(part, "<>", Number("0"))
    raise Untranslatable(at, "it is no condition: compare it with something")


class _Reader:
    """The reader parses an expression of GoldenGate, from the first token to the last."""

    def __init__(self, text: str, *, is_ansi: bool) -> None:
        self.tokens = [*_tokens(text), Token(Kind.OTHER, "", "", len(text.rstrip()), len(text))]
        self.at = 0
        self.is_ansi = is_ansi
        self.in_doubt: list[str] = []

    def peek(self) -> Token:
        return self.tokens[self.at]

    def next(self) -> Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def takes(self, *words: str) -> Token | None:
        token = self.peek()
        if token.kind in (Kind.WORD, Kind.SIGN, Kind.FUNCTION) and token.text.upper() in words:
            return self.next()
        return None

    def need(self, sign: str) -> None:
        if not self.takes(sign):
            token = self.peek()
            raise Untranslatable(token.start, f"{sign} is expected {f'before {token.text}' if token.text else 'here'}")

    def end(self) -> None:
        token = self.peek()
        if token.text:
            raise Untranslatable(token.start, f"{token.text} is not expected here: {_KNOWS}")

    def disjunction(self) -> Part:
        return self._joined("OR", self.conjunction)

    def conjunction(self) -> Part:
        return self._joined("AND", self.negation)

    def _joined(self, word: str, of: Callable[[], Part]) -> Part:
        begin = self.peek().start
        found = [of()]
        while self.takes(word):
            found.append(of())
        return found[0] if len(found) == 1 else _folded(word, [_truth(one, begin) for one in found])

    def negation(self) -> Part:
        begin = self.peek().start
        return Not(_truth(self.negation(), begin)) if self.takes("NOT") else self.predicate()

    def predicate(self) -> Part:
        begin = self.peek()
        if begin.kind is Kind.WORD and begin.text.upper() in _OF_KINDS:
            why = "has no counterpart: a row condition is for all kinds of changes"
            raise Untranslatable(begin.start, f"{begin.text.upper()} {why}")
        left = self.sum()
        if isinstance(left, Compare | Joined | Not | IsNull | Among) and not isinstance(left, _Answer | Among):
            return left
        sign = next((_COMPARISONS[s] for s in _COMPARISONS if self.takes(s)), None)
        if sign is None:
            return left
        if state := self.takes(*_STATES):
            return _state(left, sign, state)
        before = len(self.in_doubt)
        right = self.as_text() if self.peek().kind is Kind.NAME and not self.is_ansi else self.sum()
        if isinstance(left, _Answer | Among):
            del self.in_doubt[before:]
            return _compared_answer(left, sign, right, begin.start)
        if isinstance(right, _Answer | Compare | Joined | Not | IsNull | Among):
            raise Untranslatable(begin.start, "a condition stands on the left of its comparison with 1 or 0")
        return Compare(left, sign, right)

    def sum(self) -> Part:
        return self._arithmetic(("+", "-"), self.product)

    def product(self) -> Part:
        return self._arithmetic(("*", "%", "/"), self.value)

    def _arithmetic(self, signs: tuple[str, ...], of: Callable[[], Part]) -> Part:
        found = of()
        while token := self.takes(*signs):
            if token.text == "/":
                raise Untranslatable(token.start, "/ has no counterpart: databases divide whole numbers differently")
            found = Arithmetic(found, token.text, of())
        return found

    def value(self) -> Part:
        token = self.next()
        if token.text == "-" and token.kind is Kind.SIGN:
            return Minus(self.value())
        if token.text == "(":
            found = self.disjunction()
            self.need(")")
            return found
        if token.kind is Kind.NUMBER:
            return Number(token.text if token.text[0] != "." else f"0{token.text}")
        if token.kind is Kind.STRING:
            return Text(token.text[1:-1].replace("''", "'"))
        if token.kind is Kind.NAME:
            return Named(token.text[1:-1].replace('""', '"'))
        if token.kind is Kind.FUNCTION:
            return self._function(token)
        if token.kind is Kind.WORD:
            if self.peek().text == "(":
                raise Untranslatable(token.start, f"{token.text} is a function, and {_KNOWS}")
            return _column(token)
        why = f"{token.text} is not expected here: {_KNOWS}" if token.text else "a value is expected here"
        raise Untranslatable(token.start, why)

    def as_text(self) -> Part:
        """Read a token in double quotes as a text, as files do that were written before they were around names."""
        token = self.next()
        self.in_doubt.append(token.text)
        return Text(token.text[1:-1].replace('""', '"'))

    def argument(self) -> Part:
        return self.as_text() if self.peek().kind is Kind.NAME and not self.is_ansi else self.sum()

    def _function(self, token: Token) -> Part:
        name = token.text.upper()
        if name in _STATES:
            raise Untranslatable(token.start, f"{name} stands behind = or <> and a column")
        if name == "@RANGE":
            why = "splits a table's rows between processes, and one channel takes all of them: leave it out"
            raise Untranslatable(token.start, f"@RANGE {why}")
        if name not in ("@STREQ", "@VALONEOF", "@COMPUTE"):
            raise Untranslatable(token.start, f"{name} has no counterpart: {_KNOWS}")
        self.need("(")
        if name == "@COMPUTE":
            found = self.disjunction()
        else:
            first = self.sum()
            self.need(",")
            found = self._of_two(token, name, first)
        self.need(")")
        return found

    def _of_two(self, token: Token, name: str, first: Part) -> Part:
        if name == "@STREQ":
            return _Answer(first, "=", self.argument())
        found = [self.argument()]
        while self.takes(","):
            found.append(self.argument())
        if not all(isinstance(one, Text | Number) for one in found):
            raise Untranslatable(token.start, "@VALONEOF takes constants only, behind its column")
        return Among(first, tuple(found))

    def change_value(self) -> Part | None:
        """Return the value of the change that @GETENV or a timestamp function gives, if the text is one."""
        token = self.peek()
        if token.kind is not Kind.FUNCTION or token.text.upper() != "@GETENV":
            return None
        self.next()
        self.need("(")
        words = [self._word()]
        while self.takes(","):
            words.append(self._word())
        self.need(")")
        name = _GETENV.get((words[0], words[1] if len(words) > 1 else ""))
        if name is None:
            known = ", ".join(f"@GETENV ('{one}', '{two}')" for one, two in _GETENV)
            raise Untranslatable(token.start, f"@GETENV of {', '.join(words)} has no counterpart: there is {known}")
        return OfChange(name)

    def _word(self) -> str:
        token = self.next()
        return token.text.strip("'\"").upper()


def _tokens(text: str) -> Iterator[Token]:
    for token in tokens(text, FORMULA):
        if token.kind is Kind.OTHER:
            raise Untranslatable(token.start, f"{token.text} is not expected here: {_KNOWS}")
        yield token


def _column(token: Token) -> Named:
    if "." in token.text:
        raise Untranslatable(token.start, f"{token.text}: a column has its own name alone, without a table's")
    return Named(token.text.lower())


def _folded(word: str, parts: list[Part]) -> Part:
    """Return the parts joined, without those that are always true (AND) or false (OR)."""
    decides, idle = Truth(word == "OR"), Truth(word == "AND")
    if decides in parts:
        return decides
    left = tuple(part for part in parts if part != idle)
    return Joined(word, left) if len(left) > 1 else left[0] if left else idle


def _state(left: Part, sign: str, state: Token) -> Part:
    """Return the test of a column's state: the log has the whole row, so every column is present."""
    name = state.text.upper()
    if not isinstance(left, Named) or sign not in ("=", "<>"):
        raise Untranslatable(state.start, f"{name} stands behind = or <> and a column")
    if name == "@NULL":
        return IsNull(left, negated=sign == "<>")
    return Truth((name == "@PRESENT") is (sign == "="))


def _compared_answer(left: Part, sign: str, right: Part, at: int) -> Part:
    """Return the condition of a function that is compared with 1 or 0, as its answer."""
    wanted = (sign, right.digits if isinstance(right, Number) else "")
    if wanted not in _TRUE_WHEN | _FALSE_WHEN:
        raise Untranslatable(at, "the answer of a function is compared with 1 or 0: = 1, > 0, = 0")
    is_true = wanted in _TRUE_WHEN
    if isinstance(left, Among):
        of_null = (IsNull(left.of),) if not is_true else ()
        negated = Among(left.of, left.items, not is_true)
        return Joined("OR", (negated, *of_null)) if of_null else negated
    assert isinstance(left, _Answer)
    return Compare(left.left, "=" if is_true else "IS DISTINCT FROM", left.right)
