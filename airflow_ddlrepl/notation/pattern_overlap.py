"""This module decides whether a name exists that two name patterns both match."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from string import printable

from airflow_ddlrepl.notation.name_pattern import TOKEN, as_regex, split_name_pattern

_ANY = ""
Unit = str
"""A regular expression for one character; empty: any run of them."""


Pair = tuple[str, str]
"""Patterns for a schema and for a table's name."""


def schema_and_name(pattern: str) -> Pair:
    """Split a pattern for a table's name, or for schema.name, into patterns for schema and name."""
    parts = split_name_pattern(pattern)
    return ("*", parts[0]) if len(parts) == 1 else (parts[0], parts[1])


def tables_intersect(one: Pair, other: Pair) -> bool:
    """Return whether a table can exist whose schema and name both pairs match."""
    return all(patterns_intersect(*patterns) for patterns in zip(one, other, strict=True))


def patterns_intersect(one: str, other: str) -> bool:
    """Return whether a name can match both patterns. Raises ValueError for a range that runs backwards."""
    alphabet = sorted({*printable, *one, *other, *one.lower(), *one.upper(), *other.lower(), *other.upper()})
    try:
        return any(_intersect(a, b, alphabet) for a, b in product(_alternatives(one), _alternatives(other)))
    except re.error as error:
        raise ValueError(f"{one!r} or {other!r} is no pattern: {error}") from None


def _intersect(one: list[Unit], other: list[Unit], alphabet: list[str]) -> bool:
    """Return whether some text matches both patterns; it steps through both, one character or run of them at a time."""
    known: dict[tuple[Unit, Unit], bool] = {}

    def together(a: Unit, b: Unit) -> bool:
        if (a, b) not in known:
            first, second = re.compile(a, re.DOTALL), re.compile(b, re.DOTALL)
            known[a, b] = any(first.fullmatch(char) and second.fullmatch(char) for char in alphabet)
        return known[a, b]

    seen, ahead = {(0, 0)}, [(0, 0)]
    while ahead:
        i, j = ahead.pop()
        if (i, j) == (len(one), len(other)):
            return True
        a, b = (one[i] if i < len(one) else None), (other[j] if j < len(other) else None)
        steps = []
        if a == _ANY or b == _ANY:
            steps += [(i + 1, j)] * (a is not None)
            steps += [(i, j + 1)] * (b is not None)
        elif a is not None and b is not None and together(a, b):
            steps.append((i + 1, j + 1))
        ahead += [step for step in steps if step not in seen]
        seen.update(steps)
    return False


def _alternatives(pattern: str) -> list[list[Unit]]:
    found: list[list[Unit]] = [[]]
    for match in TOKEN.finditer(pattern):
        quoted, *_, star, _, alternative, _ = match.groups()
        if alternative:
            found.append([])
        elif star:
            found[-1].append(_ANY)
        else:
            found[-1] += _units(match, quoted)
    return found


def _units(match: re.Match[str], quoted: str | None) -> Iterator[Unit]:
    if quoted is None:
        yield as_regex(match)
    else:
        yield from (re.escape(char) for char in quoted.replace('""', '"'))
