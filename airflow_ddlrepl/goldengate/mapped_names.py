"""This module works out what each name in a statement becomes at the target, by MAP and MAPDERIVED."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airflow_ddlrepl.goldengate.parameters.mapping import all_targets_of, mapped_alike
from airflow_ddlrepl.goldengate.parameters.replicat import ReplicatParameters
from airflow_ddlrepl.goldengate.record import Record
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.sql.dialect import Dialect
from airflow_ddlrepl.sql.mentions import mentioned_in
from airflow_ddlrepl.sql.names import WITH_BASE, read
from airflow_ddlrepl.sql.operation import BARE_IN_POSTGRES
from airflow_ddlrepl.sql.spelling import Change, with_names
from airflow_ddlrepl.sql.words import Named

_POSTGRES = Dialect.POSTGRES


def with_base(record: Record, target: TableName, parameters: ReplicatParameters) -> str:
    """Return the text with the base object called as at the target, and the tables that it refers to, by their MAP."""
    reading = read(record.text, record.dialect)
    changes: list[Change] = []
    if reading.is_rename:
        is_bare = record.dialect is _POSTGRES or not _has_schema(record.text, reading.new_names[0])
        changes.append(Change(reading.new_names[0], target, is_bare))
    elif reading.object_type in WITH_BASE:
        changes += [Change(reading.base, target)] if reading.base is not None else []
    else:
        changes += [Change(place, target) for place in reading.objects[:1]]
    own = {(change.place.start, change.place.end) for change in changes}
    listed = () if reading.is_rename or reading.object_type in WITH_BASE else reading.objects[1:]
    places = (*listed, *mentioned_in(record.text, record.dialect))
    others = (place for place in places if (place.start, place.end) not in own)
    return with_names(record.text, [*changes, *_others(others, record, parameters)], record.dialect)


def with_derived(record: Record, derived: TableName) -> str:
    """Return the text with the derived object called so."""
    reading = read(record.text, record.dialect)
    if not reading.objects:
        return record.text
    is_bare = record.dialect is _POSTGRES and (reading.operation, reading.object_type) in BARE_IN_POSTGRES
    return with_names(record.text, [Change(reading.objects[0], derived, is_bare)], record.dialect)


def derived_target(record: Record, parameters: ReplicatParameters) -> TableName | None:
    """Return what the derived object is called at the target; None: as at the source.

    By its own MAP; without one it goes along into the schema of the base object, and so does an index of PostgreSQL,
    which lies where its table lies. Where the base object is not mapped nothing is.
    """
    if record.derived is None or record.target is None:
        return None
    own = all_targets_of(record.derived, parameters, record.dialect)
    if record.is_rename:
        return former_name(record, parameters) or TableName(record.target.schema, record.derived.name)
    name = _nearest(own, record, parameters) if own else record.derived
    return TableName(record.target.schema, name.name) if lies_with_its_table(record) or not own else name


def former_name(record: Record, parameters: ReplicatParameters) -> TableName | None:
    """Return what a renamed object was called at the target that its new name is for; None: it was not there.

    By the MAP that gives the new name, where that lists the former one, too; else by the TARGET of the same number.
    """
    if record.base is None or record.derived is None or record.target is None:
        return None
    if (found := mapped_alike(record.base, record.target, record.derived, parameters, record.dialect)) is not None:
        return found
    names = all_targets_of(record.derived, parameters, record.dialect)
    number = parameters.nth_target or 1 + all_targets_of(record.base, parameters, record.dialect).index(record.target)
    return names[number - 1] if number <= len(names) else None


def lies_with_its_table(record: Record) -> bool:
    """Is the derived object one that PostgreSQL has in the schema of its table, with the schema in its name?"""
    return record.dialect is _POSTGRES and record.object_type == "INDEX"


def _others(places: Iterator[Named], record: Record, parameters: ReplicatParameters) -> Iterator[Change]:
    """Yield the changes of names that MAP lists."""
    for place in places:
        names = all_targets_of(TableName(place.schema or record.schema, place.name), parameters, record.dialect)
        if names:
            yield Change(place, _nearest(names, record, parameters))


def _nearest(names: Sequence[TableName], record: Record, parameters: ReplicatParameters) -> TableName:
    """Return the one of an object's several targets that goes with the base object's: as the nth, or in its schema."""
    if 0 < parameters.nth_target <= len(names):
        return names[parameters.nth_target - 1]
    return next((name for name in names if record.target and name.schema == record.target.schema), names[0])


def _has_schema(text: str, place: Named) -> bool:
    return "." in text[place.start : place.end]
