"""This module parses a condition of a channel file; it refuses what is not known to mean the same on every server.

disjunction: conjunction OR …      conjunction: negation AND …      negation: NOT negation | predicate
predicate: sum [comparison sum | IN (constants) | BETWEEN sum AND sum | LIKE 'text' | IS [NOT] NULL | …]
sum: product + - product …         product: value * % value …       value: column, constant or (…), ::type
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NoReturn

from airflow_ddlrepl.notation.condition.expression import (
    Among,
    Arithmetic,
    Between,
    Cast,
    Compare,
    IsNull,
    Joined,
    Like,
    Minus,
    Named,
    Not,
    Number,
    OfChange,
    Part,
    Spelling,
    Text,
    Truth,
)
from airflow_ddlrepl.notation.condition.tokens import tokens
from airflow_ddlrepl.sql import lexical
from airflow_ddlrepl.sql.lexer import Kind, Word

TYPES = {
    **dict.fromkeys(("smallint", "int2"), "smallint"),
    **dict.fromkeys(("integer", "int", "int4"), "integer"),
    **dict.fromkeys(("bigint", "int8"), "bigint"),
    **dict.fromkeys(("numeric", "decimal"), "numeric"),
    **dict.fromkeys(("real", "float4"), "real"),
    **dict.fromkeys(("double precision", "float8"), "double precision"),
    **dict.fromkeys(("boolean", "bool"), "boolean"),
    **dict.fromkeys(("timestamp", "timestamp without time zone"), "timestamp without time zone"),
    **dict.fromkeys(("timestamptz", "timestamp with time zone"), "timestamp with time zone"),
    **{name: name for name in ("text", "date", "interval", "uuid", "bytea", "inet")},
}
"""What may be cast to, and how that is spelled."""
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
_NUMBER = re.compile(r"\d+(\.\d+)?(e\d+)?", re.IGNORECASE)
# Words that are no column's without quotes, or mean something else to a server than a column.
_WORDS = """
all analyse analyze and any array as asc asymmetric authorization between binary both case cast check collate
collation column concurrently constraint create cross current_catalog current_date current_role current_schema
current_time current_timestamp current_user default deferrable desc distinct do else end except exists extract
false fetch for foreign freeze from full grant group having ilike in initially inner intersect into is isnull join
lateral leading left like limit localtime localtimestamp natural not notnull null offset on only or order outer
overlaps placing primary references returning right row select session_user similar some symmetric system_user
table tablesample then to trailing true union unique user using variadic verbose when where window with
"""
_RESERVED = frozenset(_WORDS.split())
_KNOWN = (
    "a condition has columns, numbers, texts, = <> < <= > >=, AND OR NOT, IN, BETWEEN, LIKE, IS NULL,"
    " IS DISTINCT FROM, + - * %, ::type"
)
CHANGE_VALUES = ("commit_time", "operation", "position", "sequence", "transaction")
"""What an expression of an extra column may take of a change, in braces."""
_VALUES = (Named, OfChange, Text, Number, Truth, Cast, Minus, Arithmetic)
_CONSTANTS = (Text, Number, Truth)
_NO_CONSTANTS = (Kind.WORD, Kind.SIGN)


@lru_cache(maxsize=1024)
def condition(text: str) -> Part:
    """Return the condition in a text of the channel file; raise ValueError with what can't be in a condition."""
    try:
        found = _Reader(text).whole()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not found.names():
        raise ValueError("it names no column: leave the entry out, or use `rules` to exclude a table")
    return found


@lru_cache(maxsize=1024)
def expression(text: str) -> Part:
    """Return the value of an extra column in a text of the channel file; raise ValueError with what can't be in it.

    It is about the row, or it is one value of the change, such as `{commit_time}`, if need be with a cast.
    """
    try:
        found = _Reader(text, of_change=True).expression()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if change_value(found) is None and any(isinstance(part, OfChange) for part in found.walk()):
        raise ValueError(f"{spelled(found)}: a value of the change stands alone, or with one cast after it")
    return found


def change_value(part: Part) -> OfChange | None:
    """Return the value of the change that an expression is; None: it is about the row."""
    of = part.of if isinstance(part, Cast) else part
    return of if isinstance(of, OfChange) else None


def spelled(of: Part) -> str:
    """Return the condition in the spelling of a person: blanks and needless parentheses make no difference to it."""
    return of.sql(Spelling(_column, lambda text: "'" + text.replace("'", "''") + "'"))


def _column(name: str) -> str:
    plain = re.fullmatch(r"[a-z_][a-z0-9_]*", name) and name not in _RESERVED
    return name if plain else '"' + name.replace('"', '""') + '"'


class _Reader:
    """A reader parses the tokens of one condition, from the first to the last."""

    def __init__(self, text: str, *, of_change: bool = False) -> None:
        self.found = tokens(text)
        self.at = 0
        self.of_change = of_change

    def whole(self) -> Part:
        found = self.disjunction()
        if self.at < len(self.found):
            self.refuse()
        return _truth(found)

    def expression(self) -> Part:
        found = self.disjunction()
        if self.at < len(self.found):
            self.refuse()
        return found

    def disjunction(self) -> Part:
        return self._joined("or", self.conjunction)

    def conjunction(self) -> Part:
        return self._joined("and", self.negation)

    def _joined(self, word: str, of: Callable[[], Part]) -> Part:
        found = [of()]
        while self.takes(word):
            found.append(of())
        return found[0] if len(found) == 1 else Joined(word.upper(), tuple(map(_truth, found)))

    def negation(self) -> Part:
        return Not(_truth(self.negation())) if self.takes("not") else self.predicate()

    def predicate(self) -> Part:
        left = self.sum()
        sign = self.sign(_COMPARISONS)
        if sign:
            return Compare(_value(left), sign, _value(self.sum()))
        if self.takes("is"):
            return self.being(_value(left))
        negated = self.takes("not")
        if self.takes("in"):
            return Among(_value(left), self.constants(), negated)
        if self.takes("between"):
            low = _value(self.sum())
            self.need("and")
            return Between(_value(left), low, _value(self.sum()), negated)
        if self.takes("like"):
            pattern = self.primary()
            if not isinstance(pattern, Text):
                raise ValueError("LIKE needs a text in quotes")
            if (len(pattern.value) - len(pattern.value.rstrip("\\"))) % 2:
                raise ValueError("a pattern of LIKE must not end with a single backslash")
            return Like(_value(left), pattern, negated)
        return self.refuse() if negated else left

    def being(self, left: Part) -> Part:
        negated = self.takes("not")
        if self.takes("null"):
            return IsNull(left, negated)
        if self.takes("true") or self.takes("false"):
            word = self.found[self.at - 1].text
            return Compare(left, f"IS {'' if negated else 'NOT '}DISTINCT FROM", Truth(word == "true"))
        self.need("distinct")
        self.need("from")
        return Compare(left, f"IS {'NOT ' if negated else ''}DISTINCT FROM", _value(self.sum()))

    def constants(self) -> tuple[Part, ...]:
        self.need("(")
        found = [self.constant()]
        while self.takes(","):
            found.append(self.constant())
        self.need(")")
        return tuple(found)

    def constant(self) -> Part:
        found = self.unary()
        if not is_constant(found):
            raise ValueError("IN takes constants only")
        return found

    def sum(self) -> Part:
        return self._arithmetic(("+", "-"), self.product)

    def product(self) -> Part:
        return self._arithmetic(("*", "%"), self.unary)

    def _arithmetic(self, signs: tuple[str, ...], of: Callable[[], Part]) -> Part:
        left = of()
        while sign := self.sign(signs):
            right = _value(of())
            if sign == "%" and not (isinstance(right, Number) and float(right.digits)):
                raise ValueError("% takes a number other than 0 on its right: a row could be divided by 0 else")
            left = Arithmetic(_value(left), sign, right)
        return left

    def unary(self) -> Part:
        if self.takes("-"):
            return Minus(_value(self.unary()))
        found = self.primary()
        while self.takes("::"):
            found = Cast(_value(found), self.type())
        return found

    def primary(self) -> Part:
        if self.takes("("):
            found = self.disjunction()
            self.need(")")
            return found
        if self.of_change and self.takes("{"):
            return self.change()
        token = self.found[self.at] if self.at < len(self.found) else None
        if token is None:
            raise ValueError("it ends where a column or a constant should be")
        self.at += 1
        if token.kind is Kind.STRING:
            return Text(_text(token.text))
        if token.kind is Kind.NUMBER:
            return Number(_digits(token.text))
        if token.kind is Kind.WORD and token.text in ("true", "false"):
            return Truth(token.text == "true")
        if token == (Kind.WORD, "cast"):
            return self.cast()
        if token.kind in (Kind.WORD, Kind.NAME):
            return Named(self.name(token))
        self.at -= 1
        return self.refuse()

    def change(self) -> Part:
        """Parse what follows `{`: the name of a value of the change, and `}`."""
        name = next((one for one in CHANGE_VALUES if self.takes(one)), "")
        if not name:
            self.refuse(f"in braces there is {', '.join(CHANGE_VALUES)}, not ")
        self.need("}")
        return OfChange(name)

    def cast(self) -> Part:
        """Parse what follows CAST: standard SQL's `cast(value as type)`, which becomes `value::type`."""
        self.need("(")
        found = _value(self.sum())
        self.need("as")
        found = Cast(found, self.type())
        self.need(")")
        return found

    def name(self, token: Word) -> str:
        """Return the column's name; raise ValueError for a function, a qualified name or a reserved word."""
        after = self.found[self.at].text if self.at < len(self.found) else ""
        if token.kind is Kind.WORD:
            if token.text in _RESERVED:
                raise ValueError(f"{token.text} can't be there (a column of that name: in double quotes); {_KNOWN}")
            if not token.text.isascii():
                raise ValueError(f"{token.text} must be in double quotes, spelled as at the source")
        elif not token.text:
            raise ValueError("an empty name")
        if after == "(":
            raise ValueError(f"{token.text}(…): there are no functions; {_KNOWN}")
        if after == ".":
            raise ValueError(f"{token.text}.…: write the column's name alone")
        if self.at < len(self.found) and self.found[self.at].kind is Kind.STRING:
            raise ValueError(f"{token.text} '…': write '…'::type")
        return token.text

    def type(self) -> str:
        """Parse a type's name, the longest known one that begins here; raise ValueError for an unknown type."""
        words = [token.text if token.kind is Kind.WORD else "" for token in self.found[self.at : self.at + 4]]
        for size in range(len(words), 0, -1):
            name = " ".join(words[:size])
            if name in TYPES:
                self.at += size
                return TYPES[name]
        known = ", ".join(dict.fromkeys(TYPES.values()))
        raise ValueError(f"::{words[0] if words else ''}: there is a cast to {known}, without a length")

    def takes(self, text: str) -> bool:
        """Return whether the next token is this word or sign, and go past it when it is."""
        if self.at < len(self.found):
            token = self.found[self.at]
            if token.text == text and token.kind in _NO_CONSTANTS:
                self.at += 1
                return True
        return False

    def sign(self, among: tuple[str, ...]) -> str:
        found = self.found[self.at].text if self.at < len(self.found) else ""
        return found if found in among and self.takes(found) else ""

    def need(self, text: str) -> None:
        if not self.takes(text):
            self.refuse(f"{text.upper()} is missing before ")

    def refuse(self, why: str = "") -> NoReturn:
        rest = " ".join(token.text for token in self.found[self.at : self.at + 3]) or "its end"
        raise ValueError(f"{why}{rest}{'' if why else ' can not be there'}; {_KNOWN}")


def is_constant(part: Part) -> bool:
    """Is the part a constant: a number, a text, TRUE or FALSE, with a sign or a cast?"""
    if isinstance(part, Minus):
        return isinstance(part.of, Number)
    return is_constant(part.of) if isinstance(part, Cast) else isinstance(part, _CONSTANTS)


def _truth(part: Part) -> Part:
    """Return the part; raise ValueError unless it can be true or false, as a column can."""
    if isinstance(part, _VALUES) and not isinstance(part, Named | Truth):
        raise ValueError(f"{spelled(part)} is neither true nor false")
    return part


def _value(part: Part) -> Part:
    if not isinstance(part, _VALUES):
        raise ValueError(f"{spelled(part)} is true or false, and is used as a value: write AND, OR, NOT")
    return part


def _text(spelled_so: str) -> str:
    if not re.fullmatch(lexical.TEXT, spelled_so) or "\0" in spelled_so:
        raise ValueError(f"{spelled_so}: write a text in single quotes, and double a quote inside it")
    return spelled_so[1:-1].replace("''", "'")


def _digits(spelled_so: str) -> str:
    if not _NUMBER.fullmatch(spelled_so):
        raise ValueError(f"{spelled_so} is no number")
    return spelled_so.lower()
