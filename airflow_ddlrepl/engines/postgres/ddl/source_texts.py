"""Texts of a source go into SQL only through this module, which refuses what is not one text of its kind."""

from __future__ import annotations

from collections.abc import Callable

from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.sql.expressions.kinds import (
    is_closed,
    parse_bound,
    parse_check,
    parse_collation,
    parse_expression,
    parse_key,
    parse_type,
)
from airflow_ddlrepl.sql.expressions.reader import Found
from airflow_ddlrepl.sql.expressions.words import NotOneText

_IDENTITIES = {"always": "ALWAYS", "by default": "BY DEFAULT"}
_GENERATED = {"stored": "STORED", "virtual": "VIRTUAL"}
_DEFERRABLE = {"immediate": "IMMEDIATE", "deferred": "DEFERRED"}


def type_text(text: str) -> str:
    """Return the text of a type. Raises Unsupported ADP-190 where it is not one type."""
    return _checked(text, "type", parse_type)


def collation_text(text: str) -> str:
    """Return the name of a collation. Raises Unsupported ADP-190 where it is not one name."""
    return _checked(text, "collation", parse_collation)


def expression_text(text: str) -> str:
    """Return an expression, to be written in parentheses. Raises Unsupported ADP-190 where it is not one expression."""
    return _checked(text, "expression", parse_expression)


def default_text(text: str) -> str:
    """Return a default as it follows the word DEFAULT. Raises Unsupported ADP-190 where it is not one expression."""
    text = expression_text(text)
    return text if is_closed(text) else f"({text})"


def check_text(text: str) -> str:
    """Return a domain's check. Raises Unsupported ADP-190 where it is not one check."""
    return _checked(text, "check", parse_check)


def key_text(text: str) -> str:
    """Return a partition key. Raises Unsupported ADP-190 where it is not one."""
    return _checked(text, "partition key", parse_key)


def bound_text(text: str) -> str:
    """Return the bound of a partition. Raises Unsupported ADP-190 where it is not one."""
    return _checked(text, "partition bound", parse_bound)


def identity_words(kind: str) -> str:
    """Return the words for a kind of identity column."""
    return _known(kind, _IDENTITIES)


def generated_words(kind: str) -> str:
    """Return the word for a kind of generated column."""
    return _known(kind, _GENERATED)


def deferrable_words(kind: str) -> str:
    """Return the word for how a deferrable constraint starts out."""
    return _known(kind, _DEFERRABLE)


def _known(kind: str, words: dict[str, str]) -> str:
    if kind not in words:
        raise _refused(kind, "kind of column or key", "is none of PostgreSQL's")
    return words[kind]


def _checked(text: str, kind: str, parse: Callable[[str], Found]) -> str:
    try:
        parse(text)
    except NotOneText as error:
        raise _refused(text, kind, str(error)) from None
    return text


def _refused(text: str, kind: str, why: str) -> Unsupported:
    short = text if len(text) <= 120 else f"{text[:120]}…"
    return Unsupported(
        f"the {kind} `{short}` is not one {kind} and nothing else: it {why}",
        code="ADP-190",
        hint="change it at the source, or leave the table out of the channel",
    )
