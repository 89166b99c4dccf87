"""This module splits the comments of a statement off its command, so that each can be searched apart."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.sql.dialect import OURS, Dialect
from airflow_ddlrepl.sql.languages import OF_DIALECT
from airflow_ddlrepl.sql.tokens import Token, comments


def split_comments(text: str, dialect: Dialect = OURS) -> tuple[str, tuple[str, ...]]:
    """Return the command and the comments of a statement; marks in strings and quoted names begin no comment."""
    if not ("--" in text or "/*" in text or "#" in text):  # begins no comment of any dialect
        return text.strip(), ()
    found = list(comments(text, OF_DIALECT[dialect]))
    if not found:
        return text.strip(), ()
    return _without(text, found).strip(), tuple(_without_marks(one.value) for one in found)


def _without(text: str, found: Sequence[Token]) -> str:
    """Return a text without its comments, which become a blank where they part two words."""
    parts: list[str] = []
    at = 0
    for comment in found:
        parts.append(text[at : comment.start])
        at = comment.end
        if parts[-1][-1:].strip() and text[at : at + 1].strip():
            parts.append(" ")
    return "".join([*parts, text[at:]])


def _without_marks(comment: str) -> str:
    if comment.startswith("/*"):
        return comment[2:].removesuffix("*/").strip()
    return comment.lstrip("-#").strip()
