"""These functions find and rename columns inside generation expressions and partition keys.

The expressions are texts as the catalog prints them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from airflow_ddlrepl.sql.lexer import Kind, Word, placed_tokens, tokens

_NAMES = (Kind.WORD, Kind.NAME)
# Reserved words of operators: a column may stand beside them, and is never called so without quotes.
_OPERATORS = re.compile(
    "and|or|not|is|in|like|ilike|similar|to|between|symmetric|case|when|then|else|end|from|distinct|any|all|some"
    "|collate|escape|isnull|notnull"
)
_FIELDS = re.compile(
    "century|days?|decade|dow|doy|epoch|hour|isodow|isoyear|julian|microseconds?|millennium|milliseconds?|minute|month"
    "|quarter|second|timezone(_hour|_minute)?|week|year"
)


def mentions(expression: str, name: str) -> bool:
    """Return whether the expression may use the column; also true where only a function or type has that name."""
    return any(_is(token, name) for token in tokens(expression))


def is_unambiguous(expression: str, name: str) -> bool:
    """Return whether everything in the expression that has the column's name is the column."""
    found = list(tokens(expression))
    return all(_is_column(found, at) for at, token in enumerate(found) if _is(token, name))


def renamed(expression: str, old: str, new: str) -> str:
    """Return the expression with every name `old` replaced, and all else as it was.

    What is no column but has its name is replaced, too: call it only where `is_unambiguous`, else compare the result.
    """
    parts: list[str] = []
    after = 0
    doubled = new.replace('"', '""')
    for token, begin, end in placed_tokens(expression):
        if _is(token, old):
            parts += [expression[after:begin], f'"{doubled}"']
            after = end
    return "".join([*parts, expression[after:]])


def _is(token: Word, name: str) -> bool:
    return token.kind in _NAMES and token.text == name


def _is_column(found: Sequence[Word], at: int) -> bool:
    """Return whether a word is a column, not a function, type, field, collation or word of the grammar.

    Those are beside names, `(`, `.`, `::`.
    """
    before = found[at - 1] if at else Word(Kind.SIGN, "(")
    after = [*found[at + 1 : at + 3], Word(Kind.SIGN, ")"), Word(Kind.SIGN, ")")]
    if before.text == "collate" or before.text in (".", "::", ")", "]") or after[0].text in (".", "("):
        return False
    if _FIELDS.fullmatch(found[at].text) and after[0].text == "from":
        return False
    if after[0].text == "=" and after[1].text == ">":
        return False
    return _may_stand_beside(before) and _may_stand_beside(after[0])


def _may_stand_beside(other: Word) -> bool:
    return other.kind is Kind.SIGN or (other.kind is Kind.WORD and _OPERATORS.fullmatch(other.text) is not None)
