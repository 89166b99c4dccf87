"""This module splits an expression as PostgreSQL's catalog prints it into words; anything else is refused.

It is strict where the lexer of statements is lenient: no comment, no semicolon, no parameter, no quoting by dollars, no
string with escapes, nothing that is not closed. Only ASCII letters make a bare name: the catalog quotes all others.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from airflow_ddlrepl.sql import tokens
from airflow_ddlrepl.sql.languages import EXPRESSION


class Kind(StrEnum):
    """A word's kind says what it is; a keyword is one that PostgreSQL prints bare for no name of a user."""

    NAME = "name"
    QUOTED = "quoted"
    KEYWORD = "keyword"
    STRING = "string"
    NUMBER = "number"
    OPERATOR = "operator"
    SIGN = "sign"
    END = "end"


class ExpressionWord(NamedTuple):
    """A word of an expression. text: in lower case or, of a quoted name, without its quotes."""

    kind: Kind
    text: str


class NotOneText(ValueError):
    """A text is not one expression, type, bound or key of its kind and nothing else. The message says why."""


def listed(words: str) -> frozenset[str]:
    """Return the words of a text, a list of names that is read more easily than one with quotes and commas."""
    return frozenset(words.split())


LONGEST = 100_000
END = ExpressionWord(Kind.END, "")
KEYWORDS = listed(
    "all analyse analyze and any array as asc asymmetric authorization between bigint binary bit boolean both "
    "case cast char character check coalesce collate collation column concurrently constraint create cross "
    "current_catalog current_date current_role current_schema current_time current_timestamp current_user dec "
    "decimal default deferrable desc distinct do else end except exists extract false fetch float for foreign "
    "freeze from full grant greatest group grouping having ilike in initially inner inout int integer intersect "
    "interval into is isnull join json json_array json_arrayagg json_exists json_object json_objectagg json_query "
    "json_scalar json_serialize json_table json_value lateral leading least left like limit localtime "
    "localtimestamp merge_action national natural nchar none normalize not notnull null nullif numeric offset on "
    "only or order out outer overlaps overlay placing position precision primary real references returning right "
    "row select session_user setof similar smallint some substring symmetric system_user table tablesample then "
    "time timestamp to trailing treat trim true union unique user using values varchar variadic verbose when "
    "where window with xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi "
    "xmlroot xmlserialize xmltable"
)
"""What PostgreSQL 15 to 18 quote where it is a name: all their keywords but the unreserved ones."""

_NAME, _KEYWORD, _SIGN, _OPERATOR = Kind.NAME, Kind.KEYWORD, Kind.SIGN, tokens.Kind.OPERATOR
_KINDS = {
    tokens.NAME: Kind.QUOTED,
    tokens.STRING: Kind.STRING,
    tokens.NUMBER: Kind.NUMBER,
    _OPERATOR: Kind.OPERATOR,
}


def words(text: str) -> list[ExpressionWord]:
    """Return the words of an expression's text, and END. Raises NotOneText for what no expression of a catalog has."""
    if len(text) > LONGEST:
        raise NotOneText(f"is longer than {LONGEST} characters")
    found: list[ExpressionWord] = []
    for kind, value, part, _, _ in tokens.tokens(text, EXPRESSION):
        if kind is tokens.WORD:
            lower = part.lower()
            found.append(ExpressionWord(_KEYWORD if lower in KEYWORDS else _NAME, lower))
        elif kind is tokens.SIGN:
            found.append(ExpressionWord(_SIGN, part))
        elif (ours := _KINDS.get(kind)) is None:
            raise NotOneText(f"has {part!r} where an expression can't have it")
        elif kind is _OPERATOR and ("--" in part or "/*" in part):
            raise NotOneText("has a comment")
        else:
            found.append(ExpressionWord(ours, value))
    found.append(END)
    return found
