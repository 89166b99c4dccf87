"""This module splits a text into tokens, in any language whose quotes and comments it is told: it is the one tokenizer.

A token has its place in the text, and nothing but blanks stands between two of them: what a reader takes out of a text
or puts into it leaves the rest as it was. `languages.py` has the languages.

sqlglot's tokenizer is not that: it drops comments and what looks like Jinja's, gives texts without their quotes, takes
`1e` for a number and no word of what it can't read, and knows neither parameter files nor scripts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import NamedTuple

from airflow_ddlrepl.sql import lexical


class Kind(Enum):
    """A kind says what a token is. Each language has some of them.

    open: a quote or a comment that is not closed. run: a line with a slash alone. line: a line's end, where it counts.
    more: what lets a line go on. other: a character that the language has no use for.
    """

    WORD = 1
    NAME = 2
    STRING = 3
    NUMBER = 4
    SIGN = 5
    COMMENT = 6
    OPERATOR = 7
    FUNCTION = 8
    SPACE = 9
    OPEN = 10
    RUN = 11
    LINE = 12
    MORE = 13
    OTHER = 14


WORD, NAME, STRING, NUMBER, SIGN, COMMENT = tuple(Kind)[:6]
"""The kinds, for what looks at every token: reading one off its class takes as long as a call (Python 3.11)."""


class Token(NamedTuple):
    """A token is one word, name in quotes, constant, sign or comment of a text, from `start` up to `end`.

    value: of a word, its upper-case form; of a name, what stands in the quotes; else the text as written, as `text`.
    """

    kind: Kind
    value: str
    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """Return the word in upper case, or the sign; of names and texts in quotes, nothing."""
        return self.value if self.kind is WORD or self.kind is SIGN else ""


class Rule(NamedTuple):
    """A rule says which texts are tokens of a kind.

    closing: what ends the token, where the pattern is its beginning alone; it is given what the pattern has matched.
    runs_on: does a token that is not closed run to the end of the text? Else the other rules read its beginning.
    """

    kind: Kind
    pattern: str
    closing: Callable[[str], str] | None = None
    runs_on: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """A language is how a text is written: the first of its rules that matches makes the next token.

    blanks: what is passed over before a token; empty: rules make tokens of it. nests: may comments stand in comments?
    """

    rules: tuple[Rule, ...]
    blanks: str = ""
    nests: bool = False


class _Compiled(NamedTuple):
    """The rules of a language as one expression. short: without those whose end has to be looked for.

    By the number of a group: kinds, where the group is the whole token, and long, where it is its beginning.
    """

    whole: re.Pattern[str]
    short: re.Pattern[str]
    kinds: list[Kind | None]
    long: dict[int, Rule]


_REST = "."
"""What no rule matches is a token, too, where `finditer` would go past it without a word."""
_FLAGS = re.DOTALL | re.MULTILINE
_NEW = tuple.__new__
"""Makes a token in half the time of a call, for words and signs, which are most of a text."""


@cache
def _compiled(language: Language) -> _Compiled:
    """Return the expressions of a language; they are made on first use, because that takes long."""
    blanks = f"{language.blanks}*+" if language.blanks else ""
    # Blanks at the text's end are passed over once, and not from each of them.
    rest = Rule(Kind.OTHER, rf"{_REST}|(?<={language.blanks})\Z" if blanks else _REST)
    rules = {f"rule{number}": rule for number, rule in enumerate((*language.rules, rest))}
    whole = "|".join(f"(?P<{group}>{rule.pattern})" for group, rule in rules.items())
    short = "|".join(f"(?P<{group}>{rule.pattern})" for group, rule in rules.items() if rule.closing is None)
    pattern = re.compile(f"{blanks}(?:{whole})", _FLAGS)
    kinds: list[Kind | None] = [None] * (pattern.groups + 1)
    long: dict[int, Rule] = {}
    for group, rule in rules.items():
        if rule.closing is None:
            kinds[pattern.groupindex[group]] = rule.kind
        else:
            long[pattern.groupindex[group]] = rule
    return _Compiled(pattern, re.compile(short, _FLAGS), kinds, long)


def tokens(text: str, language: Language, at: int = 0, missing: dict[str, int] | None = None) -> Iterator[Token]:
    """Yield the tokens of a text as far as they are asked for, from a place on where one begins. It never fails.

    missing: takes note of ends that are found no more, and from where on: they are not looked for again.
    """
    compiled = _compiled(language)
    whole, kinds = compiled.whole, compiled.kinds
    missing = {} if missing is None else missing
    goes_on: int | None = at
    while goes_on is not None:
        matches, goes_on = whole.finditer(text, goes_on), None
        for match in matches:
            index = match.lastindex or 0
            kind = kinds[index]
            part = match[index]
            start, end = match.span(index)
            if kind is WORD:
                yield _NEW(Token, (kind, part.upper(), part, start, end))
            elif kind is None:
                token = _long(text, match, language, missing)
                yield token
                goes_on = token.end
                break
            elif kind is NAME:
                yield Token(kind, lexical.name_in(part), part, start, end)
            elif part:
                yield _NEW(Token, (kind, part, part, start, end))


def _long(text: str, match: re.Match[str], language: Language, missing: dict[str, int]) -> Token:
    """Return the token that a match begins; where it is not closed and does not run on, what other rules read there."""
    compiled, index = _compiled(language), match.lastindex or 0
    rule, start = compiled.long[index], match.start(index)
    end = _end(text, rule, match.span(index), language, missing)
    if end >= 0:
        return Token(rule.kind, text[start:end], text[start:end], start, end)
    instead = compiled.short.match(text, start) or match
    kind = compiled.kinds[compiled.whole.groupindex[instead.lastgroup or ""]] or Kind.OTHER
    return _token(kind, instead)


def _token(kind: Kind, match: re.Match[str]) -> Token:
    part = match[0]
    value = part.upper() if kind is WORD else lexical.name_in(part) if kind is NAME else part
    return Token(kind, value, part, match.start(), match.end())


def _end(text: str, rule: Rule, begins: tuple[int, int], language: Language, missing: dict[str, int]) -> int:
    """Return where a token ends whose beginning stands between two places; -1: it is not closed, and read otherwise."""
    start, behind = begins
    if language.nests and rule.kind is COMMENT:
        return lexical.end_of_comment(text, start)
    closing = rule.closing(text[start:behind]) if rule.closing is not None else ""
    found = -1 if behind >= missing.get(closing, len(text) + 1) else text.find(closing, behind)
    if found >= 0:
        return found + len(closing)
    missing[closing] = min(behind, missing.get(closing, behind))
    return len(text) if rule.runs_on else -1


@cache
def _around_comments(language: Language) -> tuple[re.Pattern[str], dict[str, Rule]]:
    """Return an expression for what lies before the next comment or text in long quotes, or for the mark of one.

    It tries the rules in their order, as the expression of single tokens does, so both see the same comments.
    """
    before: list[str] = [f"{language.blanks}++"] if language.blanks else []
    barred: list[str] = []
    marks: dict[str, Rule] = {}
    for number, rule in enumerate(language.rules):
        if rule.kind is COMMENT or rule.closing is not None:
            barred.append(rule.pattern)
            marks[f"mark{number}"] = rule
        else:
            before.append(f"(?!{'|'.join(barred)})(?:{rule.pattern})" if barred else f"(?:{rule.pattern})")
    named = "|".join(f"(?P<{group}>{rule.pattern})" for group, rule in marks.items())
    return re.compile(f"(?:{'|'.join(before)})++|{named}", _FLAGS), marks


def comments(text: str, language: Language) -> Iterator[Token]:
    """Yield the comments among the tokens of a text, without making the others."""
    pattern, marks = _around_comments(language)
    missing: dict[str, int] = {}
    at = 0
    while (match := pattern.match(text, at)) is not None:
        at = match.end()
        rule = marks.get(match.lastgroup or "")
        if rule is None:
            continue
        if rule.closing is not None:
            at = _end(text, rule, match.span(), language, missing)
        if at < 0:
            instead = _compiled(language).short.match(text, match.start())
            at = instead.end() if instead is not None else match.end()
        elif rule.kind is COMMENT:
            comment = text[match.start() : at]
            yield Token(COMMENT, comment, comment, match.start(), at)
