"""This module decides whether a default or generation expression means the same on another server."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from airflow_ddlrepl.model.stored_names import SYSTEM_SCHEMA
from airflow_ddlrepl.sql.expressions.allowed import NEWEST, Use, why_not
from airflow_ddlrepl.sql.lexer import Kind, Word, tokens

_NAMING = frozenset({"nextval", "currval", "setval"})
_SEQUENCES = _NAMING | {"lastval"}


class Dependence(StrEnum):
    """A dependence says what an expression builds on, and so whether another server can evaluate it.

    PLAIN: constants, operators and functions that every server has.
    """

    PLAIN = "plain"
    SEQUENCE = "draws from a sequence"
    FOREIGN = "uses a user-defined function, operator or type"


def dependence_of(expression: str, types: Collection[tuple[str, str]] = ()) -> Dependence:
    """Return what the expression builds on: what every server has, a sequence, or something user-defined.

    types: user-defined types (schema, name) that the target has.

    The catalog prints everything that is not built in with its schema (our shapes are read with no
    schemas to look names up in), so a qualified name is the user's.
    """
    words = list(tokens(expression))
    if any(w.kind is Kind.WORD and w.text in _SEQUENCES and _opens(words, i + 1) for i, w in enumerate(words)):
        return Dependence.SEQUENCE
    foreign = any(_is_foreign(words, i, types) for i in range(len(words)))
    return Dependence.FOREIGN if foreign else Dependence.PLAIN


def _is_foreign(words: list[Word], at: int, types: Collection[tuple[str, str]]) -> bool:
    """Does `schema.name` start here that is neither a built-in thing's name nor one of the types (as a type)?"""
    pair = words[at : at + 3]
    if len(pair) < 3 or pair[1].text != "." or pair[0].kind not in (Kind.WORD, Kind.NAME):
        return False
    if pair[0].text == SYSTEM_SCHEMA:
        return False
    if pair[2].kind not in (Kind.WORD, Kind.NAME):
        return True
    return (pair[0].text, pair[2].text) not in types or _opens(words, at + 3)


def _opens(words: list[Word], at: int) -> bool:
    return at < len(words) and words[at].text == "("


def is_constant(expression: str) -> bool:
    """Is the expression made of literals, signs and casts alone, with no function or keyword such as CURRENT_DATE?"""
    words = list(tokens(expression))
    for at, word in enumerate(words):
        if word.kind in (Kind.STRING, Kind.NUMBER) or (word.kind is Kind.SIGN and word.text in ("-", "+")):
            continue
        if word == Word(Kind.SIGN, "::") and at:
            return not any(w.kind is Kind.STRING for w in words[at:])
        if word.text not in ("true", "false", "null", "(", ")"):
            return False
    return True


def is_value(expression: str, value: str) -> bool:
    """Is the expression a constant with just this value? It returns False where that is not sure.

    value: as text, `t` and `f` for booleans.
    """
    words = list(tokens(expression))
    if not words or not is_constant(expression):
        return False
    cast = words[1:2] in ([], [Word(Kind.SIGN, "::")])
    first = words[0].text
    if words[0].kind is Kind.STRING:
        return cast and first == "'" + value.replace("'", "''") + "'"
    return cast and {"true": "t", "false": "f"}.get(first, first) == value


def follows_sequences(expression: str, named: int, types: Collection[tuple[str, str]] = ()) -> bool:
    """Can another server evaluate a default that draws from sequences, once it has these?

    named: how many sequences it names by regclass constants; others are looked up by name when the default is used.
    """
    words = list(tokens(expression))
    calls = sum(w.kind is Kind.WORD and w.text in _NAMING and _opens(words, i + 1) for i, w in enumerate(words))
    foreign = any(_is_foreign(words, i, types) for i in range(len(words)))
    return calls == named and not foreign and not why_not(expression, Use.DEFAULT, NEWEST, types)
