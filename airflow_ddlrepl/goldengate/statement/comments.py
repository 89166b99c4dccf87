"""This module splits the comments of a statement off its command, so that each can be searched apart."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.config.goldengate.dialect import Dialect
from airflow_ddlrepl.goldengate.statement.scan import Kind, Piece, scan


def split_comments(text: str, dialect: Dialect = Dialect.POSTGRES) -> tuple[str, tuple[str, ...]]:
    """Return the command and the comments of a statement; marks in strings and quoted names begin no comment."""
    comments = [piece for piece in scan(text, dialect) if piece.kind is Kind.COMMENT]
    if not comments:
        return text.strip(), ()
    return _without(text, comments).strip(), tuple(_without_marks(piece.value) for piece in comments)


def _without(text: str, comments: Sequence[Piece]) -> str:
    """Return a text without its comments, which become a blank where they part two words."""
    parts: list[str] = []
    at = 0
    for piece in comments:
        parts.append(text[at : piece.start])
        at = piece.end
        if parts[-1][-1:].strip() and text[at : at + 1].strip():
            parts.append(" ")
    return "".join([*parts, text[at:]])


def _without_marks(comment: str) -> str:
    if comment.startswith("/*"):
        return comment[2:].removesuffix("*/").strip()
    return comment.lstrip("-#").strip()
