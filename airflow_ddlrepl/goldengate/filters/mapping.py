"""This module maps names by MAP … TARGET: what a wildcard matched stands where the target has one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from airflow_ddlrepl.config.base.name_pattern import TOKEN, split_table_pattern
from airflow_ddlrepl.config.goldengate.replicat import MapParameter, ReplicatParameters
from airflow_ddlrepl.goldengate.filters.names import any_matches, index_of
from airflow_ddlrepl.model.names import TableName


def targets_of(name: TableName, parameters: ReplicatParameters) -> tuple[TableName, ...]:
    """Return the names that MAP parameters give an object at the target, in the order of the file, each once."""
    if any_matches(parameters.exclude, name):
        return ()
    return tuple(dict.fromkeys(_targets(name, parameters)))


def _targets(name: TableName, parameters: ReplicatParameters) -> Iterator[TableName]:
    sources = _sources(parameters.maps)
    for number in index_of(sources).matching(name):
        yield mapped(name, parameters.maps[number])


def mapped(name: TableName, by: MapParameter) -> TableName:
    """Return the name that one MAP parameter, whose source matches the name, gives it."""
    pairs = zip(name, split_table_pattern(by.source), split_table_pattern(by.target), strict=True)
    return TableName(*(_part(part, source, target) for part, source, target in pairs))


@lru_cache(64)
def _sources(maps: tuple[MapParameter, ...]) -> tuple[str, ...]:
    return tuple(one.source for one in maps)


def _part(part: str, source: str, target: str) -> str:
    middle = ""
    if "*" in target:
        found = _capturing(source).fullmatch(part)
        middle = found.group(1) if found is not None else part
    text = []
    for quoted, _, _, star, _, _, char in TOKEN.findall(target):
        text.append(middle if star else quoted.replace('""', '"') or char)
    return "".join(text)


@lru_cache(1024)
def _capturing(pattern: str) -> re.Pattern[str]:
    """Return the expression of a pattern with one star, which captures what the star matches."""
    parts = []
    for quoted, _, _, star, one, _, char in TOKEN.findall(pattern):
        literal = re.escape(quoted.replace('""', '"') or char)
        parts.append("(.*)" if star else "." if one else literal)
    return re.compile("".join(parts), re.DOTALL | re.IGNORECASE)
