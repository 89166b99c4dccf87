"""This module translates the object names of parameter files into name patterns: catalogs, quotes and wildcards."""

from __future__ import annotations

import re
from typing import NamedTuple

_TOKEN = re.compile(r'"((?:[^"]|"")*)"|\\(.)|([*?])|(\.)|([^\w$#@])|(.)', re.DOTALL)
_PLAIN = re.compile(r"[\w$#@*?]+(?:\.[\w$#@*?]+){0,2}")
_IN_QUOTES = re.compile(r'\\([*?\\])|([*?])|("")|(.)', re.DOTALL)


class Name(NamedTuple):
    """A name is the pattern that an object's name in a parameter file means. catalog: what stood in front, if any."""

    pattern: str
    catalog: str
    parts: int


def read_name(text: str) -> Name:
    """Return what a name means: up to catalog.schema.name, wildcards * and ?, `"Quoted"` as written, `\\*` a star.

    A name whose dots all stand in quotes, such as "hr.*", is one that old files quote as a whole. Raises ValueError.
    """
    if _PLAIN.fullmatch(text):
        plain = text.split(".")
        return Name(".".join(plain[-2:]), plain[0] if len(plain) == 3 else "", len(plain))
    if re.fullmatch(r"'[^']*'", text):
        text = text[1:-1]
    if re.fullmatch(r'"[^"]*\.[^"]*"', text):
        text = text[1:-1]
    parts: list[list[tuple[str, bool]]] = [[]]
    for quoted, escaped, wildcard, dot, sign, char in _TOKEN.findall(text):
        if dot:
            parts.append([])
        elif quoted:
            parts[-1] += _quoted(quoted)
        elif escaped or sign:
            parts[-1].append((escaped or sign, True))
        else:
            parts[-1].append((wildcard or char, False))
    if len(parts) > 3 or not all(parts):
        raise ValueError(f"{text} is no name of the form schema.name")
    patterns = [_pattern(part) for part in parts]
    catalog = patterns.pop(0) if len(patterns) == 3 else ""
    return Name(".".join(patterns), catalog, len(patterns))


def _quoted(text: str) -> list[tuple[str, bool]]:
    """Return the characters of a name in quotes, each with whether it is literal: wildcards work there, too."""
    found = _IN_QUOTES.findall(text)
    return [(escaped or ('"' if quote else char) or wildcard, not wildcard) for escaped, wildcard, quote, char in found]


def _pattern(part: list[tuple[str, bool]]) -> str:
    """Return the pattern of one part: what is literal stands in double quotes."""
    pattern, literal = "", ""
    for char, is_literal in [*part, ("", False)]:
        if is_literal:
            literal += char.replace('"', '""')
            continue
        pattern += (f'"{literal}"' if literal else "") + char
        literal = ""
    return pattern
