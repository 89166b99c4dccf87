"""This module finds out how many TARGETs one table of the source can have by the MAP parameters of a Replicat."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from airflow_ddlrepl.goldengate.parameters.mapping import mapped
from airflow_ddlrepl.goldengate.parameters.names import NameIndex
from airflow_ddlrepl.goldengate.parameters.overlaps import named_in_full
from airflow_ddlrepl.goldengate.parameters.replicat import MapParameter
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.notation.name_pattern import split_table_pattern
from airflow_ddlrepl.notation.pattern_overlap import tables_intersect

_LITERAL = re.compile(r'[^*?\[\]|"]*')
Renaming = tuple[str, ...]
"""What a MAP makes of schema and name: a part of TARGET, or nothing where the part stays as it is at the source."""


def most_targets(maps: Sequence[MapParameter]) -> int:
    """Return how many names a table of the source can get at most.

    It may be too many, and is too few only for a table whose upper-case name a MAP has without quotes.
    """
    if len(maps) < 2:
        return len(maps)
    index = NameIndex([one.source for one in maps])
    most, patterns = 1, list[MapParameter]()
    for one in maps:
        name = named_in_full(one.source)
        if name is None:
            patterns.append(one)
        elif len(numbers := index.matching(name)) > 1:
            folded = name if '"' in one.source else TableName(name.schema.lower(), name.name.lower())
            most = max(most, len({mapped(folded, maps[number]) for number in numbers}))
    return max(most, _most_by_patterns(patterns))


def _most_by_patterns(maps: Sequence[MapParameter]) -> int:
    """Return how many different names the patterns that one of them overlaps give, at most."""
    renamings: dict[int, set[Renaming]] = defaultdict(set)
    for one, other in _side_by_side(maps):
        first, second = _renaming(one), _renaming(other)
        if first != second and tables_intersect(split_table_pattern(one.source), split_table_pattern(other.source)):
            renamings[id(one)] |= {first, second}
            renamings[id(other)] |= {first, second}
    return max(map(len, renamings.values()), default=1)


def _side_by_side(maps: Sequence[MapParameter]) -> Iterator[tuple[MapParameter, MapParameter]]:
    """Yield the pairs of MAPs whose patterns do not already differ in the text that they begin with."""
    before: list[tuple[str, MapParameter]] = []
    for begins, one in sorted(((_beginning(one.source), one) for one in maps), key=lambda pair: pair[0]):
        while before and not begins.startswith(before[-1][0]):
            before.pop()
        yield from ((other, one) for _, other in before)
        before.append((begins, one))


def _beginning(pattern: str) -> str:
    found = _LITERAL.match(pattern)
    return found.group().lower() if found is not None and "|" not in pattern else ""


def _renaming(one: MapParameter) -> Renaming:
    parts = zip(split_table_pattern(one.source), split_table_pattern(one.target), strict=True)
    return tuple("" if _is_same_part(old, new) else new for old, new in parts)


def _is_same_part(old: str, new: str) -> bool:
    """Is a part of each name that the pattern matches the same at the target?"""
    return new == "*" or ("*" not in new and old.lower() == new.lower())
