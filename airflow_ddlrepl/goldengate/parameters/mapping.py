"""This module maps names by MAP … TARGET: the asterisk of a target stands for the whole name at the source."""

from __future__ import annotations

from functools import lru_cache

from airflow_ddlrepl.goldengate.parameters.listing import is_excluded
from airflow_ddlrepl.goldengate.parameters.names import NameIndex
from airflow_ddlrepl.goldengate.parameters.prepared import prepared_once
from airflow_ddlrepl.goldengate.parameters.replicat import MapParameter, ReplicatParameters
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.notation.name_pattern import TOKEN, exact_pattern, split_table_pattern
from airflow_ddlrepl.sql.dialect import OURS, Dialect


def targets_of(name: TableName, parameters: ReplicatParameters, dialect: Dialect = OURS) -> tuple[TableName, ...]:
    """Return the names that MAP parameters give an object at the target, in the order of the file, each once.

    dialect: what the text of a target means that is in no quotes. Of parameters for the nth TARGET it is that one, or
    none.
    """
    found, number = all_targets_of(name, parameters, dialect), parameters.nth_target
    return found[number - 1 : number] if number else found


def all_targets_of(name: TableName, parameters: ReplicatParameters, dialect: Dialect = OURS) -> tuple[TableName, ...]:
    """Return these names also of parameters that are for one of several TARGETs."""
    maps = _maps_of(name, parameters)
    if len(maps) == 1:
        return (mapped(name, maps[0], dialect),)
    return tuple(dict.fromkeys(mapped(name, one, dialect) for one in maps))


def target_of(name: TableName, parameters: ReplicatParameters) -> TableName | None:
    """Return the name of a table at a target of a channel, by the first MAP that lists it; None: no MAP does."""
    return next(iter(targets_of(name, parameters)), None)


def map_of(name: TableName, parameters: ReplicatParameters) -> MapParameter | None:
    """Return the first MAP that lists a table, which decides about its rows at the target; None: no MAP does."""
    found = _maps_of(name, parameters)
    if not parameters.nth_target:
        return next(iter(found), None)
    own = target_of(name, parameters)
    return next((one for one in found if mapped(name, one) == own), None)


def mapped_alike(
    name: TableName, to: TableName, other: TableName, parameters: ReplicatParameters, dialect: Dialect = OURS
) -> TableName | None:
    """Return what the MAP that makes `to` of a name makes of another name; None: it does not list that one."""
    by = next((one for one in _maps_of(name, parameters) if mapped(name, one, dialect) == to), None)
    return mapped(other, by, dialect) if by is not None and by in _maps_of(other, parameters) else None


def is_of_another_target(old: TableName, new: TableName, parameters: ReplicatParameters) -> bool:
    """Does the MAP that gives a table its new name belong to another of the several TARGETs that the old name has?"""
    to = target_of(new, parameters)
    if not parameters.nth_target or to is None:
        return False
    alike = mapped_alike(new, to, old, parameters)
    return alike is not None and alike != target_of(old, parameters)


def mapped_name(name: TableName, parameters: ReplicatParameters) -> str | None:
    """Return a pattern for the one name that MAP parameters give a table; None: it has the source's name."""
    found = target_of(name, parameters)
    return None if found in (None, name) else exact_pattern(found)


def _maps_of(name: TableName, parameters: ReplicatParameters) -> list[MapParameter]:
    found = [parameters.maps[number] for number in _index(parameters.maps).matching(name)]
    if parameters.exclude and is_excluded(name, parameters, [one.source for one in found]):
        return []
    return found


def mapped(name: TableName, by: MapParameter, dialect: Dialect = OURS) -> TableName:
    """Return the name that one MAP parameter, whose source matches the name, gives it.

    Where a part of the target has an asterisk, the whole part of the name stands there, whatever wildcards MAP has.
    """
    schema, own = _target_parts(by)
    return TableName(_part(name.schema, schema, dialect), _part(name.name, own, dialect))


@prepared_once
def _index(maps: tuple[MapParameter, ...]) -> NameIndex:
    return NameIndex([one.source for one in maps])


@prepared_once
def _target_parts(by: MapParameter) -> tuple[str, str]:
    return split_table_pattern(by.target)


def _part(part: str, target: str, dialect: Dialect) -> str:
    if target == "*":
        return part
    return "".join(part if text is None else text for text in _literals(target, dialect))


@lru_cache(8192)
def _literals(target: str, dialect: Dialect) -> tuple[str | None, ...]:
    """Return the texts of a target's part, None for its star; what is in no quotes is as the dialect folds it."""
    found = TOKEN.findall(target)
    return tuple(
        None if star else quoted.replace('""', '"') or dialect.fold(char) for quoted, _, _, star, _, _, char in found
    )
