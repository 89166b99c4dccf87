"""Statements about no table of the channel, such as CREATE VIEW and COMMENT, are for targets with a Replicat alone."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.goldengate.event_record import record_of
from airflow_ddlrepl.model.change import Event, EventKind
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.sql.names import read
from airflow_ddlrepl.sql.objects import base_and_derived
from airflow_ddlrepl.sql.operation import is_mappable


def is_tableless(event: Event, ours: Container[int]) -> bool:
    """Is the event a statement that was seen in the log, and is it about none of these tables?"""
    if event.kind is not EventKind.DDL or event.is_inspected or event.is_left_out:
        return False
    ids = (*(table.id for table in event.tables), *(table_id for table_id, _ in event.dropped))
    return not any(table_id in ours for table_id in ids)


def is_for_replicats(event: Event, channel: Channel) -> bool:
    """Do Replicats of the channel get a statement about no table of it?

    With an Extract its parameters decide, else `source.tables` do: what they don't match is not captured.
    """
    if all(place.replicat is None for place in channel.targets_and_replays):
        return False
    if channel.source.extract is not None:
        return True
    about = subject_of(event)
    return about.base is None or not about.is_mappable or channel.source.includes(about.base)


class Subject(NamedTuple):
    """The subject of a statement is the object that it is about, if it names one, and whether MAP can rename such."""

    base: TableName | None
    is_mappable: bool


def subject_of(event: Event) -> Subject:
    """Return what a statement is about, by its text at the source."""
    record = record_of(event)
    reading = read(record.raw, record.dialect)
    base, _ = base_and_derived(reading, record.schema, record.known_base)
    return Subject(base, is_mappable(reading.operation, reading.object_type))
