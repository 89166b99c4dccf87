"""This module writes anonymous code blocks of PostgreSQL."""

from __future__ import annotations

from airflow_ddlrepl.engines.postgres.connection.quoting import literal


def block(body: str) -> str:
    """Return a DO statement, an anonymous code block, with this body."""
    tag = "$ddlrepl$"
    while tag in body:
        tag = tag[:-1] + "_$"
    return f"DO {tag} {body} {tag}"


def text_literal(value: str) -> str:
    """Return a text as an SQL literal, without the spaces around it."""
    return literal(value).strip()
