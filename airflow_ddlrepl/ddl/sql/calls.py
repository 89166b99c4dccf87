"""This module finds what the text of a DDL statement calls, wherever an expression stands in it.

A name in front of a parenthesis is a call unless the statement's form says that it is a type, a table or a keyword.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airflow_ddlrepl.model.stored_names import SYSTEM_SCHEMA
from airflow_ddlrepl.sql.expressions.allowed import OPERATORS, functions
from airflow_ddlrepl.sql.expressions.words import listed
from airflow_ddlrepl.sql.lexer import Kind, Word

_FORMS = listed(
    "all and any array as between bit by cast case char character check coalesce collate column current_time"
    " current_timestamp date dec decimal default distinct else end exclude exists extract float for foreign from"
    " greatest identity ilike in include int interval is least like localtime localtimestamp nchar not null nullif"
    " numeric only or overlay position precision primary references row similar some substring symmetric then time"
    " timestamp timestamptz timetz to trim unique using values varbit varchar bpchar varying when where with"
    " operator"
)
"""Words of the grammar, and types with a length, that a parenthesis follows."""
_BEFORE_NAMES = listed("table exists only references on of partition domain index column statistics")
"""Behind these words comes the name of a table, or of another object, whose columns follow in parentheses."""
_BEHIND = {
    **dict.fromkeys(("btree", "gin", "gist", "brin", "spgist"), ("using",)),
    "hash": ("using", "by"), "list": ("by",), "range": ("by",), "key": ("primary", "foreign"), "set": (), "reset": (),
}  # fmt: skip
"""Words of the grammar that are none elsewhere than behind these; with none listed, outside of all parentheses."""
_SIGNS = frozenset("+-*/<>=~!@#%^&|`?")
_OPERATORS = OPERATORS | {"!=", "::", ":"}
Words = Sequence[Word]


def called(words: Words) -> list[str]:
    """Return the functions and operators that are called and are not known to be harmless, as they are written."""
    return [*_functions(words), *_unknown_operators(words)]


def _functions(words: Words) -> Iterator[str]:
    places = _places(words)
    for at, word in enumerate(words):
        if word.kind not in (Kind.WORD, Kind.NAME) or words[at + 1 : at + 2] != [Word(Kind.SIGN, "(")]:
            continue
        start = _start_of_name(words, at)
        schema = words[at - 2].text if start < at else ""
        if start == at and word.kind is Kind.WORD and _is_form(words, at, places[at]):
            continue
        if _is_named_object(words, start) or _is_type(words, start, places[start]):
            continue
        if word.text in functions() and schema in ("", SYSTEM_SCHEMA):
            continue
        yield f"{schema}.{word.text}" if schema else word.text


def _places(words: Words) -> list[tuple[int, int]]:
    """Return for each word how many parentheses it is in, and how many groups of them have begun outside of all."""
    found, depth, groups = [], 0, 0
    for word in words:
        if word == Word(Kind.SIGN, "("):
            groups += depth == 0
            depth += 1
        depth -= word == Word(Kind.SIGN, ")")
        found.append((depth, groups))
    return found


def _is_form(words: Words, at: int, place: tuple[int, int]) -> bool:
    """Is the word one of the grammar's, or a type with a length, where it stands?"""
    text = words[at].text
    if text in _BEHIND:
        return _is(words, at - 1, *_BEHIND[text]) if _BEHIND[text] else place[0] == 0
    return text in _FORMS


def _start_of_name(words: Words, at: int) -> int:
    """Return where a name begins whose last part is here."""
    while at >= 2 and words[at - 1] == Word(Kind.SIGN, ".") and words[at - 2].kind in (Kind.WORD, Kind.NAME):
        at -= 2
    return at


def _is(words: Words, at: int, *texts: str) -> bool:
    return at >= 0 and words[at].kind is Kind.WORD and words[at].text in texts


def _is_named_object(words: Words, start: int) -> bool:
    """Is it the name of a table or an index: `CREATE TABLE t (`, `ON t (`, `REFERENCES t (`?"""
    return start == 0 or _is(words, start - 1, *_BEFORE_NAMES)


def _is_type(words: Words, start: int, place: tuple[int, int]) -> bool:
    """Is it a type with a length: of a column that is defined here, behind TYPE, or behind `::`?

    Columns are defined in the first parentheses of CREATE TABLE, and behind ADD; no expression begins there.
    """
    if _is(words, start - 1, "type") or words[start - 1] == Word(Kind.SIGN, "::"):
        return True
    before = start - 1
    if before < 1 or words[before].kind not in (Kind.WORD, Kind.NAME):
        return False
    if words[before].kind is Kind.WORD and words[before].text in _FORMS:
        return False
    opener = words[before - 1]
    if place == (1, 1):
        return opener in (Word(Kind.SIGN, "("), Word(Kind.SIGN, ","))
    return place[0] == 0 and _is(words, before - 1, "add", "column", "exists")


def _unknown_operators(words: Words) -> Iterator[str]:
    """Yield operators that are not built in, and all that are named with OPERATOR(schema.sign)."""
    run = ""
    for word in (*words, Word(Kind.SIGN, ";")):
        if word.kind is Kind.SIGN and word.text in _SIGNS:
            run += word.text
            continue
        if run and run not in _OPERATORS and not _is_split(run):
            yield run
        run = ""
        if word == Word(Kind.WORD, "operator"):
            yield "OPERATOR"


def _is_split(run: str) -> bool:
    """May these signs be an operator with the sign of a number, or a star, behind it?"""
    return any(run[:end] in _OPERATORS and set(run[end:]) <= set("-+") for end in range(1, len(run)))
