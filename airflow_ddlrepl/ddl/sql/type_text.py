"""This module respells user-defined type names inside DDL text."""

from __future__ import annotations

import re

from airflow_ddlrepl.sql.lexer import Kind, tokens

_SIMPLE = re.compile(r"[a-z_][a-z0-9_]*")


def respell(text: str, old: tuple[str, str], new: tuple[str, str]) -> str:
    """Return the type text with one qualified name replaced by another: `a.b[]`, a.b, c.d → `c.d[]`."""
    parts = list(tokens(text))
    names = [p.text for p in parts[:3:2]]
    if len(parts) < 3 or parts[1].text != "." or (names[0], names[1]) != old:
        return text
    rest = "".join(p.text if p.kind is not Kind.NAME else spelled(p.text) for p in parts[3:])
    return f"{spelled(new[0])}.{spelled(new[1])}{rest}"


def spelled(name: str) -> str:
    """Return the name as an identifier in a text that is compared, not run: quoted only where it must be."""
    if _SIMPLE.fullmatch(name):
        return name
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
