"""The selection says which sequences of a source a target has, as `db_sequence` in the channel file wants it."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.engines.abilities.sequences import ShowsSequences
from airflow_ddlrepl.engines.ability import able
from airflow_ddlrepl.engines.source import Source
from airflow_ddlrepl.model.installation import Problem
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.sequence import SequenceCatalog
from airflow_ddlrepl.notation.name_pattern import exact_pattern


def selected(channel: Channel, catalog: SequenceCatalog, tables: Collection[int]) -> frozenset[int]:
    """Return the ids of the sequences that a target with these tables of the source has.

    Without patterns they are those that a table's column owns or draws from, and those that belong to no column and
    whose name is one that `source.tables` takes.
    """
    wanted = channel.db_sequence
    if wanted is None:
        return frozenset()
    if wanted.sequences:
        return frozenset(one.id for one in catalog.sequences.values() if wanted.names(one.name))
    drawn = {i for default in catalog.defaults if default.at.table_id in tables for i in default.sequence_ids}
    return frozenset(
        one.id
        for one in catalog.sequences.values()
        if one.id in drawn
        or (one.owner.table_id in tables if one.owner is not None else channel.source.includes(one.name))
    )


def unreadable_sequences(channel: Channel, source: Source) -> list[Problem]:
    """Return the sequences that the channel file asks for and the source's role may not read."""
    if channel.db_sequence is None:
        return []
    tables = [i for i, name in source.catalog.list_tables().items() if channel.source.includes(name)]
    choose = partial(selected, channel, tables=tables)
    found = able(source, ShowsSequences).sequences.catalog(choose)
    closed = [one.name for i in choose(found) if not (one := found.sequences[i]).may_read]
    role = exact_pattern(TableName("", source.describe().partition("@")[0])).partition(".")[2]
    return [
        Problem(f"the role may not read sequence {name}", f"GRANT SELECT ON SEQUENCE {exact_pattern(name)} TO {role};")
        for name in sorted(closed)
    ]
