"""This module finds out whether patterns of TABLE and MAP parameters match a name, fast for thousands of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from airflow_ddlrepl.goldengate.parameters.prepared import prepared_once
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.notation.name_pattern import compiled, is_pattern, split_name_pattern

Part = Callable[[str], object] | None
"""Matches one part of a name; None: any name."""


class NameIndex:
    """A name index finds the patterns that match a name, without asking each.

    Patterns without a wildcard are looked up; the others are asked by their schema, where it has no wildcard.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self._plain: dict[tuple[str, str], list[int]] = {}
        self._by_schema: dict[str, list[tuple[int, Part, Part]]] = {}
        self._of_any_schema: list[tuple[int, Part, Part]] = []
        for number, pattern in enumerate(patterns):
            *schema, name = split_name_pattern(pattern)
            if schema and not _is_open(name) and not _is_open(schema[0]):
                self._plain.setdefault((schema[0].lower(), name.lower()), []).append(number)
            elif schema and not _is_open(schema[0]):
                self._by_schema.setdefault(schema[0].lower(), []).append((number, None, _part(name)))
            else:
                self._of_any_schema.append((number, _part(schema[0] if schema else "*"), _part(name)))

    def matching(self, name: TableName) -> list[int]:
        """Return the numbers of the patterns that match the name, in their order."""
        own = name.schema.lower()
        found = list(self._plain.get((own, name.name.lower()), ())) if self._plain else []
        for asked in (self._by_schema.get(own), self._of_any_schema):
            for number, schema, pattern in asked or ():
                if (schema is None or schema(name.schema)) and (pattern is None or pattern(name.name)):
                    found.append(number)
        if len(found) > 1:
            found.sort()
        return found


index_of = prepared_once(NameIndex)
"""Return the index of these patterns, made once for the parameters that hold them."""


def any_matches(patterns: tuple[str, ...], name: TableName) -> bool:
    """Does one of the patterns match the name?"""
    return bool(patterns) and bool(index_of(patterns).matching(name))


def _part(pattern: str) -> Part:
    return None if pattern == "*" else compiled(pattern).fullmatch


def _is_open(part: str) -> bool:
    return is_pattern(part) or '"' in part or re.search(r"\s", part) is not None
