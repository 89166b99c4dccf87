"""Texts of databases that pages show are without passwords, and cut where they are long."""

from __future__ import annotations

from airflow_ddlrepl.config.sections.location import redact

CUT = "…"
LONGEST = 2000


def short_text(text: str) -> str:
    """Return a statement, or another text about one, as pages show it."""
    return cut(redact(text), LONGEST)


def cut(text: str, longest: int) -> str:
    """Return the first characters of a text; a mark says that there are more."""
    return text if len(text) <= longest else f"{text[:longest]} {CUT}"
