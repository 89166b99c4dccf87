"""This module gives the tokens of a DDL statement in its dialect to all stages that ask for them."""

from __future__ import annotations

from functools import lru_cache

from airflow_ddlrepl.sql.dialect import OURS, Dialect
from airflow_ddlrepl.sql.languages import OF_DIALECT
from airflow_ddlrepl.sql.tokens import Token, tokens


@lru_cache(32)
def scan(text: str, dialect: Dialect = OURS) -> tuple[Token, ...]:
    """Return the tokens of a statement in order; stages that ask for the same text get the same ones.

    It never fails: a string, name or comment that isn't closed runs to the end. MySQL's executable comments are code:
    only the marks around them are left out.
    """
    return tuple(tokens(text, OF_DIALECT[dialect]))
