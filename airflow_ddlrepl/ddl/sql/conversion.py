"""This module reads from an ALTER TABLE statement how each of its columns is converted to a new type."""

from __future__ import annotations

from enum import StrEnum
from itertools import pairwise

from airflow_ddlrepl.sql.lexer import Kind, Word, parts, tokens


class Conversion(StrEnum):
    """A conversion says how a statement computes a column's new values.

    assign: it has no USING clause. cast: `USING c::type` of the column itself. by_text: `USING c::text::type`.
    other: all else. file: no statement does, the channel file gives the target's column another type.
    """

    ASSIGN = "assign"
    CAST = "cast"
    BY_TEXT = "by text"
    OTHER = "other"
    FILE = "channel file"


_TEXT = (["text"], ["varchar"], ["character", "varying"])


def conversions(statement: str) -> dict[str, Conversion]:
    """Return the conversion of each column whose type the statement changes; empty where it is no ALTER TABLE."""
    if "type" not in statement.lower():
        return {}
    words = [t for t in tokens(statement) if t != Word(Kind.SIGN, ";")]
    if [w.text for w in words[:2]] != ["alter", "table"]:
        return {}
    return dict(found for action in parts(_after_name(words[2:])) if (found := _conversion(action)))


def computed(statement: str, plain: frozenset[str]) -> frozenset[str]:
    """Return the columns whose new values are arithmetic on whole and decimal numbers, the same on every server.

    plain: the table's columns of such types; names and numbers may be combined with + - * / % and parentheses only.
    """
    words = [t for t in tokens(statement) if t != Word(Kind.SIGN, ";")]
    found = set()
    for action in parts(_after_name(words[2:])):
        at = next((i for i, w in enumerate(action) if w == Word(Kind.WORD, "using")), len(action))
        name = next((w.text for w in action[1:] if w != Word(Kind.WORD, "column")), "")
        if name in plain and action[at + 1 :] and _is_arithmetic(action[at + 1 :], plain):
            found.add(name)
    return frozenset(found)


def _is_arithmetic(words: list[Word], plain: frozenset[str]) -> bool:
    """Is the expression arithmetic on columns and numbers alone, without operators or functions of the user's?

    Two operators side by side may be one of the user's; a name before a parenthesis is a function's.
    """
    signs = [w.kind is Kind.SIGN and w.text in "+-*/%" for w in words]
    if any(one and other for one, other in pairwise(signs)):
        return False
    if any(one.kind in (Kind.WORD, Kind.NAME) and other.text == "(" for one, other in pairwise(words)):
        return False
    names = [w for w in words if w.kind in (Kind.WORD, Kind.NAME)]
    others = [w for w, sign in zip(words, signs, strict=True) if not sign and w not in names]
    return all(w.text in plain for w in names) and all(w.kind is Kind.NUMBER or w.text in "()" for w in others)


def _after_name(words: list[Word]) -> list[Word]:
    """Return the actions of an ALTER TABLE: the words behind the table's name."""
    while words and words[0] in (
        Word(Kind.WORD, "if"),
        Word(Kind.WORD, "exists"),
        Word(Kind.WORD, "only"),
    ):
        words = words[1:]
    at = 3 if len(words) > 1 and words[1].text == "." else 1
    return words[at + (len(words) > at and words[at] == Word(Kind.SIGN, "*")) :]


def _conversion(action: list[Word]) -> tuple[str, Conversion] | None:
    """Return column and conversion of an action `ALTER [COLUMN] c [SET DATA] TYPE t [COLLATE x] [USING e]`, or None."""
    if not action or action[0] != Word(Kind.WORD, "alter"):
        return None
    rest = action[2:] if action[1:2] == [Word(Kind.WORD, "column")] else action[1:]
    name, rest = rest[:1], rest[1:]
    if [w.text for w in rest[:2]] == ["set", "data"]:
        rest = rest[2:]
    if not name or rest[:1] != [Word(Kind.WORD, "type")]:
        return None
    using = next((i for i, w in enumerate(rest) if w == Word(Kind.WORD, "using")), None)
    if using is None:
        return name[0].text, Conversion.ASSIGN
    return name[0].text, _cast(rest[using + 1 :], name, _before_collate(rest[1:using]))


def _cast(expression: list[Word], name: list[Word], of: list[Word]) -> Conversion:
    expression = _bare(expression)
    if [w.text for w in expression[:2]] == ["cast", "("]:
        inner = expression[2:-1]
        plain = inner[:1] == name and inner[1:2] == [Word(Kind.WORD, "as")] and inner[2:] == of
        return Conversion.CAST if plain else Conversion.OTHER
    casts = _split(expression)
    if casts[0] != name or casts[-1] != of:
        return Conversion.OTHER
    if len(casts) == 2:
        return Conversion.CAST
    by_text = len(casts) == 3 and [w.text for w in casts[1]] in _TEXT
    return Conversion.BY_TEXT if by_text else Conversion.OTHER


def _split(expression: list[Word]) -> list[list[Word]]:
    parts: list[list[Word]] = [[]]
    for word in expression:
        if word == Word(Kind.SIGN, "::"):
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _bare(expression: list[Word]) -> list[Word]:
    """Return the expression without parentheses around the whole."""
    while len(expression) > 1 and expression[0].text == "(" and _closes(expression) == len(expression) - 1:
        expression = expression[1:-1]
    return expression


def _closes(expression: list[Word]) -> int:
    depth = 0
    for at, word in enumerate(expression):
        depth += (word.text == "(") - (word.text == ")") if word.kind is Kind.SIGN else 0
        if depth == 0:
            return at
    return -1


def _before_collate(words: list[Word]) -> list[Word]:
    at = next((i for i, w in enumerate(words) if w == Word(Kind.WORD, "collate")), len(words))
    return words[:at]
