"""This module writes names into the text of a statement, in place of those that stand there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.sql.dialect import OURS, Dialect
from airflow_ddlrepl.sql.words import Named

_PLAIN = {
    Dialect.POSTGRES: re.compile(r"[a-z_][a-z0-9_$]*"),
    Dialect.ORACLE: re.compile(r"[A-Z][A-Z0-9_$#]*"),
    Dialect.MYSQL: re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*"),
}

_MYSQL = Dialect.MYSQL


class Change(NamedTuple):
    """A change of a text replaces the name at a place. is_bare: without a schema, where the syntax allows none."""

    place: Named
    name: TableName
    is_bare: bool = False


def with_names(text: str, changes: Iterable[Change], dialect: Dialect) -> str:
    """Return the text with other names at these places."""
    for change in sorted(changes, key=lambda one: one.place.start, reverse=True):
        parts = (change.name.name,) if change.is_bare else change.name
        spelled = ".".join(spell(part, dialect) for part in parts if part)
        text = f"{text[: change.place.start]}{spelled}{text[change.place.end :]}"
    return text


@lru_cache(4096)
def spell(part: str, dialect: Dialect = OURS) -> str:
    """Return a name as the dialect writes it, in quotes where it needs them."""
    if _PLAIN[dialect].fullmatch(part) and part.upper() not in RESERVED:
        return part
    quote = "`" if dialect is _MYSQL else '"'
    return f"{quote}{part.replace(quote, quote * 2)}{quote}"


_WORDS = """
    ALL ANALYSE ANALYZE AND ANY ARRAY AS ASC AUTHORIZATION BETWEEN BOTH BY CASE CAST CHECK COLLATE COLUMN CONNECT
    CONSTRAINT CREATE CROSS CURRENT CURRENT_DATE CURRENT_TIME CURRENT_USER DATE DEFAULT DELETE DESC DISTINCT DROP
    ELSE END EXCEPT EXISTS FALSE FETCH FOR FOREIGN FREEZE FROM FULL GRANT GROUP HAVING IN INDEX INITIALLY INNER
    INSERT INTERSECT INTO IS ISNULL JOIN KEY LEADING LEFT LEVEL LIKE LIMIT LOCK MINUS MODE NATURAL NOT NOTNULL NULL
    NUMBER OF OFFSET ON ONLY OPTION OR ORDER OUTER OVERLAPS PLACING PRIMARY PRIOR PUBLIC RANGE RAW REFERENCES RENAME
    RESOURCE RETURNING RIGHT ROW ROWS SELECT SESSION_USER SET SIMILAR SIZE SOME START SYMMETRIC TABLE THEN TO
    TRAILING TRIGGER TRUE UNION UNIQUE UPDATE USER USING VALUES VARIADIC VERBOSE VIEW WHEN WHERE WINDOW WITH
"""
RESERVED = frozenset(_WORDS.split())
"""Words that a name in quotes may be and a plain one may not, in any of the dialects."""
