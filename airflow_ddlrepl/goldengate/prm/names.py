"""This module translates the object names of parameter files into name patterns: catalogs, quotes and wildcards."""

from __future__ import annotations

import re
from typing import NamedTuple

from airflow_ddlrepl.goldengate.prm.problems import Problem, Refused

_TOKEN = re.compile(r'"((?:[^"]|"")*)"|\\(.)|([*?])|(\.)|([^\w$#@])|(.)', re.DOTALL)
_PLAIN = re.compile(r"[\w$#@*?]+(?:\.[\w$#@*?]+){0,2}")
_PLACEHOLDER = re.compile(r"[<>\[\]{}%&^~|!:;=]|(?:^|(?<=\.))[$#@]")
_TEMPLATE = re.compile(r"(?:^|\.)[$#@]")
"""What begins a variable of a shell, a macro or a template where a name is expected."""
_IN_QUOTES = re.compile(r'\\([*?\\])|([*?])|("")|(.)', re.DOTALL)

_DROPPED = "the catalog {} is dropped: a channel replicates one database"


class Name(NamedTuple):
    """A name is the pattern that an object's name in a parameter file means. catalog: what stood in front, if any."""

    pattern: str
    catalog: str
    parts: int


def read_name(text: str) -> Name:
    """Return what a name means: up to catalog.schema.name, wildcards * and ?, `"Quoted"` as written, `\\*` a star.

    A name whose dots all stand in quotes, such as "hr.*", is one that old files quote as a whole. Raises ValueError.
    """
    if _PLAIN.fullmatch(text) and not _TEMPLATE.search(text):
        plain = text.split(".")
        return Name(".".join(plain[-2:]), plain[0] if len(plain) == 3 else "", len(plain))
    if re.fullmatch(r"'[^']*'", text):
        text = text[1:-1]
    if re.fullmatch(r'"[^"]*\.[^"]*"', text):
        text = text[1:-1]
    if (sign := _PLACEHOLDER.search(re.sub(r'"(?:[^"]|"")*"|\\.', "", text))) is not None:
        raise ValueError(f"{text} has a {sign[0]}, which no name has without quotes: fill the placeholder in")
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


class Catalogs:
    """The catalogs are which one the names of each side have; a second one of a side is refused.

    current: what SOURCECATALOG has set.
    """

    def __init__(self) -> None:
        self.current = ""
        self._seen: dict[str, str] = {}

    def read(self, written: str, at: int, what: str, side: str) -> tuple[Name, str]:
        """Return what a name means, and what is to be said of its catalog. side: source or target.

        Raises Problem for what is no name, and Refused for one of a second catalog. what: the parameter.
        """
        try:
            name = read_name(written)
        except ValueError as error:
            raise Problem(at, str(error)) from None
        is_implied = not name.catalog and side == "source"
        told = self.take(self.current if is_implied else name.catalog, at, f"{what} {written}", side)
        return name, "" if is_implied else told

    def take(self, catalog: str, at: int, what: str, side: str) -> str:
        """Take note of a catalog; return what is to be said of it, nothing for none. Raises Refused."""
        if not catalog:
            return ""
        if re.search(r"[*?]", catalog):
            why = f"the catalog {catalog} stands for several: a channel replicates one database, name it"
            raise Refused(at, what, why)
        before = self._seen.setdefault(side, catalog)
        if before.upper() != catalog.upper():
            why = f"names of catalog {before} stand before: a channel replicates one database, write one for {catalog}"
            raise Refused(at, what, why)
        return _DROPPED.format(catalog)
