"""This module maps names by MAP … TARGET: what a wildcard matched stands where the target has one."""

from __future__ import annotations

import re
from functools import lru_cache

from airflow_ddlrepl.config.base.name_pattern import TOKEN, exact_pattern, split_table_pattern
from airflow_ddlrepl.config.base.section import Section
from airflow_ddlrepl.config.goldengate.dialect import Dialect
from airflow_ddlrepl.config.goldengate.listing import is_excluded
from airflow_ddlrepl.config.goldengate.names import NameIndex
from airflow_ddlrepl.config.goldengate.prepared import prepared_once
from airflow_ddlrepl.config.goldengate.replicat import MapParameter, ReplicatParameters
from airflow_ddlrepl.model.names import TableName


def targets_of(name: TableName, parameters: ReplicatParameters, dialect: Dialect) -> tuple[TableName, ...]:
    """Return the names that MAP parameters give an object at the target, in the order of the file, each once.

    dialect: what the text of a target means that is in no quotes. Of parameters for the nth TARGET it is that one, or
    none.
    """
    found, number = all_targets_of(name, parameters, dialect), parameters.nth_target
    return found[number - 1 : number] if number else found


def all_targets_of(name: TableName, parameters: ReplicatParameters, dialect: Dialect) -> tuple[TableName, ...]:
    """Return these names also of parameters that are for one of several TARGETs."""
    maps = _maps_of(name, parameters)
    if len(maps) == 1:
        return (mapped(name, maps[0], dialect),)
    return tuple(dict.fromkeys(mapped(name, one, dialect) for one in maps))


def target_of(name: TableName, parameters: ReplicatParameters) -> TableName | None:
    """Return the name of a table at a target of a channel, by the first MAP that lists it; None: no MAP does."""
    return next(iter(targets_of(name, parameters, Dialect.POSTGRES)), None)


def map_of(name: TableName, parameters: ReplicatParameters) -> MapParameter | None:
    """Return the first MAP that lists a table, which decides about its rows at the target; None: no MAP does."""
    found = _maps_of(name, parameters)
    if not parameters.nth_target:
        return next(iter(found), None)
    own = target_of(name, parameters)
    return next((one for one in found if mapped(name, one, Dialect.POSTGRES) == own), None)


class MappedName(Section):
    """A mapped name is what MAP parameters call one table at a target, among the table's settings there."""

    at_target: str


def mapped_name(name: TableName, parameters: ReplicatParameters) -> MappedName | None:
    """Return the name that MAP parameters give a table where it is another one than at the source; None: they don't."""
    found = target_of(name, parameters)
    return None if found in (None, name) else MappedName(at_target=exact_pattern(found))


def _maps_of(name: TableName, parameters: ReplicatParameters) -> list[MapParameter]:
    found = [parameters.maps[number] for number in _index(parameters.maps).matching(name)]
    if parameters.exclude and is_excluded(name, parameters, [one.source for one in found]):
        return []
    return found


def mapped(name: TableName, by: MapParameter, dialect: Dialect) -> TableName:
    """Return the name that one MAP parameter, whose source matches the name, gives it."""
    (from_schema, schema), (from_name, own) = _prepared(by)
    return TableName(_part(name.schema, from_schema, schema, dialect), _part(name.name, from_name, own, dialect))


@prepared_once
def _index(maps: tuple[MapParameter, ...]) -> NameIndex:
    return NameIndex([one.source for one in maps])


@prepared_once
def _prepared(by: MapParameter) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return the schema's pattern and its target's, then the name's and its target's."""
    (from_schema, from_name), (schema, own) = split_table_pattern(by.source), split_table_pattern(by.target)
    return (from_schema, schema), (from_name, own)


def _part(part: str, source: str, target: str, dialect: Dialect) -> str:
    if target == source == "*":
        return part
    middle = ""
    if "*" in target:
        found = _capturing(source).fullmatch(part)
        middle = found.group(1) if found is not None else part
    return "".join(middle if text is None else text for text in _literals(target, dialect))


@lru_cache(8192)
def _literals(target: str, dialect: Dialect) -> tuple[str | None, ...]:
    """Return the texts of a target's part, None for its star; what is in no quotes is as the dialect folds it."""
    found = TOKEN.findall(target)
    return tuple(
        None if star else quoted.replace('""', '"') or dialect.fold(char) for quoted, _, _, star, _, _, char in found
    )


@lru_cache(1024)
def _capturing(pattern: str) -> re.Pattern[str]:
    """Return the expression of a pattern with one star, which captures what the star matches."""
    parts = []
    for quoted, _, _, star, one, _, char in TOKEN.findall(pattern):
        literal = re.escape(quoted.replace('""', '"') or char)
        parts.append("(.*)" if star else "." if one else literal)
    return re.compile("".join(parts), re.DOTALL | re.IGNORECASE)
