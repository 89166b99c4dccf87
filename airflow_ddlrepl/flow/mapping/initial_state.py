"""A new table waits at a target for its first rows, in this state."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_ddlrepl.adapt.plan.plan import target_shape
from airflow_ddlrepl.adapt.target_facts import TargetFacts
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.channel_at import ChannelAt
from airflow_ddlrepl.config.sections.policies import Defaults
from airflow_ddlrepl.engines.target import ServerFacts
from airflow_ddlrepl.flow.mapping.tables import seen_at
from airflow_ddlrepl.flow.run.targets import server_alone
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState, TableStatus


def as_enrolled(channel: Channel, table: Table, history: Sequence[Revision]) -> Table:
    """Return the table with the columns that the channel replicates.

    With HVR's defaults and no AdaptDDL action at the source, these are the columns of the names that it began with.
    Revisions go on in any case: rows can't be read without.
    """
    if channel.defaults is Defaults.OWN or channel.replays_text(table.name):
        return table
    if any(action.is_for(table.name) for action in channel.source_actions()):
        return table
    first = next((revision.table for revision in history if revision.table is not None), table)
    names = {column.name for column in first.columns}
    columns = tuple(column for column in table.columns if column.name in names)
    return table.with_(columns=columns).with_keys_of({column.id for column in columns})


def pending_state(at: ChannelAt, table: Table, facts: ServerFacts) -> TableState:
    """Return the state of a table that waits for its first load, with the name and shape it will have at the target.

    table: as the source has it. Raises Unsupported where its properties ask what can't be.
    """
    name = at.target_name(table.name)
    shape = target_shape(seen_at(at, table), facts=TargetFacts(server_alone(facts), name_after=name))
    settings = at.settings(table.name)
    return TableState(table.id, name, shape, TableStatus.NEW, settings=settings)
