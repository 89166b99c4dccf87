"""This module finds out whether patterns of TABLE and MAP parameters match a name, fast for thousands of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from airflow_ddlrepl.config.base.name_pattern import is_pattern, matches_name, split_name_pattern
from airflow_ddlrepl.model.names import TableName


class NameIndex:
    """A name index finds the patterns that match a name, without asking each.

    Patterns without a wildcard are looked up; the others are asked by their schema, where it has no wildcard.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = patterns
        self._plain: dict[tuple[str, str], list[int]] = {}
        self._by_schema: dict[str | None, list[int]] = {}
        for number, pattern in enumerate(patterns):
            *schema, name = split_name_pattern(pattern)
            if schema and not _is_open(name) and not _is_open(schema[0]):
                self._plain.setdefault((schema[0].lower(), name.lower()), []).append(number)
            else:
                own = schema[0].lower() if schema and not _is_open(schema[0]) else None
                self._by_schema.setdefault(own, []).append(number)

    def matching(self, name: TableName) -> Iterator[int]:
        """Yield the numbers of the patterns that match the name, in their order."""
        found = list(self._plain.get((name.schema.lower(), name.name.lower()), ()))
        for schema in (name.schema.lower(), None):
            found += [n for n in self._by_schema.get(schema, ()) if matches_name(self._patterns[n], name)]
        yield from sorted(found)


@lru_cache(256)
def index_of(patterns: tuple[str, ...]) -> NameIndex:
    """Return the index of these patterns; parameters are read once and asked for each statement."""
    return NameIndex(patterns)


def any_matches(patterns: tuple[str, ...], name: TableName) -> bool:
    """Does one of the patterns match the name?"""
    return bool(patterns) and next(index_of(patterns).matching(name), None) is not None


def _is_open(part: str) -> bool:
    return is_pattern(part) or '"' in part or re.search(r"\s", part) is not None
