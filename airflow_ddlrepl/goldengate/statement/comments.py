"""This module splits the comments of a statement off its command, so that each can be searched apart."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.goldengate.statement.dialect import Dialect
from airflow_ddlrepl.goldengate.statement.scan import Kind, Piece, scan


def comments_of(pieces: Sequence[Piece]) -> tuple[str, ...]:
    """Return the texts of the comments among a statement's pieces, without their marks."""
    return tuple(_without_marks(piece.value) for piece in pieces if piece.kind is Kind.COMMENT)


def without_comments(text: str, pieces: Sequence[Piece]) -> str:
    """Return the statement's text without its comments, which become a blank where they part two words."""
    parts: list[str] = []
    at = 0
    for piece in pieces:
        if piece.kind is Kind.COMMENT:
            parts.append(text[at : piece.start])
            at = piece.end
            if parts[-1][-1:].strip() and text[at : at + 1].strip():
                parts.append(" ")
    return "".join([*parts, text[at:]]).strip() if parts else text


def split_comments(text: str, dialect: Dialect = Dialect.POSTGRES) -> tuple[str, tuple[str, ...]]:
    """Return the command and the comments of a statement; marks in strings and quoted names begin no comment."""
    pieces = tuple(scan(text, dialect))
    return without_comments(text, pieces).strip(), comments_of(pieces)


def _without_marks(comment: str) -> str:
    if comment.startswith("/*"):
        return comment[2:].removesuffix("*/").strip()
    return comment.lstrip("-#").strip()
