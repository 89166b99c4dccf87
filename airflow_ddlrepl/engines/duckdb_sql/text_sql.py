"""This module writes DuckDB's SQL that reads the source's texts of values, and that writes such texts."""

from __future__ import annotations

TEXT, JSON = "VARCHAR", "JSON"


def from_text(sql: str, to: str, cast: str = "CAST") -> str:
    """Return SQL that reads the source's text of a value, which `sql` gives, as a value of a type of DuckDB.

    cast: TRY_CAST reads a text that is no such value as NULL.
    """
    if to == TEXT:
        return sql
    if to == "BLOB":
        return f"unhex(substr({sql}, 3))"
    if to == "DATE":
        return f"{cast}(replace({sql}, ' BC', ' (BC)') AS DATE)"
    if to.startswith("TIMESTAMP"):
        before = f"regexp_replace({sql}, '^(\\S+) (.*) BC$', '\\1 (BC) \\2')"
        return f"{cast}(CASE WHEN {sql} LIKE '% BC' THEN {before} ELSE {sql} END AS {to})"
    return f"{cast}({sql} AS {to})"


def to_text(sql: str, of: str) -> str:
    """Return SQL for a text that the source reads as a value, which `sql` gives in a type of DuckDB."""
    if of == "BLOB":
        return f"('\\x' || lower(hex({sql})))"
    text = f"CAST({sql} AS {TEXT})"
    if of == "DATE" or of.startswith("TIMESTAMP"):
        return f"CASE WHEN {text} LIKE '% (BC)%' THEN replace({text}, ' (BC)', '') || ' BC' ELSE {text} END"
    return text


def as_written(sql: str, of: str) -> str:
    """Return SQL for the text that the source writes for a value, which `sql` gives in a type of DuckDB."""
    if of == "BOOLEAN":
        return f"CASE {sql} WHEN true THEN 't' WHEN false THEN 'f' END"
    if of in ("FLOAT", "DOUBLE"):
        return f"regexp_replace({to_text(sql, of)}, '[.]0$', '')"
    return to_text(sql, of)


def is_literal(text: str, to: str) -> bool:
    """Does DuckDB read the source's text of a value as it is?"""
    return to == TEXT or (to != "BLOB" and not text.endswith(" BC"))
