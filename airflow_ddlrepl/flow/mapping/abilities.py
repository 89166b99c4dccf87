"""What the channel file asks of a source or a target is refused where its kind of database can't do it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.channel_at import ChannelAt
from airflow_ddlrepl.config.sections.policies import History
from airflow_ddlrepl.engines.abilities.discarded_rows import DiscardsRows
from airflow_ddlrepl.engines.abilities.of_source import ArchivesRows, FeedsQueues, IgnoresSessions, RetainsLog
from airflow_ddlrepl.engines.abilities.of_target import (
    AppliesTogether,
    ArrangesRows,
    FindsConflicts,
    HasOwnColumns,
    LeavesOutChanges,
    ReplacesSomeRows,
    ReplaysStatements,
)
from airflow_ddlrepl.engines.abilities.sequences import HasSequences, ShowsSequences
from airflow_ddlrepl.engines.ability import Ability, able, find
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.settings.table_settings import OwnColumns
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.scope.decide import taken_tables

OF_SOURCES: dict[type[Ability], Callable[[Channel], bool]] = {
    RetainsLog: lambda channel: channel.hold_log is not None or channel.limits.retained_log_bytes is not None,
    ArchivesRows: lambda channel: channel.rewind_horizon is not None,
    IgnoresSessions: lambda channel: bool(channel.capture.ignore_sessions),
    FeedsQueues: lambda channel: channel.clients.captures,
    ShowsSequences: lambda channel: channel.db_sequence is not None,
}
"""Whether a channel file asks for an ability of its source."""
OF_TARGETS: dict[type[Ability], Callable[[Channel], bool]] = {
    HasSequences: lambda channel: channel.db_sequence is not None,
}
"""Whether a channel file asks for an ability of each of its targets."""
OF_TABLES: dict[type[Ability], Callable[[ChannelAt, TableName], bool]] = {
    HasOwnColumns: lambda at, table: at.settings(table).columns != OwnColumns(),
    DiscardsRows: lambda at, table: at.settings(table).columns.discards,
    LeavesOutChanges: lambda at, table: at.settings(table).leaves_out_changes,
    ReplacesSomeRows: lambda at, table: bool(at.refresh_limits(table)) and not at.is_replay,
    ReplaysStatements: lambda at, table: at.channel.replays_text(table) and not at.is_replay,
    AppliesTogether: lambda at, table: at.place.history is History.BOTH,
    ArrangesRows: lambda at, table: bool(at.place.arrangement_of(at.target_name(table))),
    FindsConflicts: lambda at, table: at.settings(table).conflicts is not None,
}
"""Whether a channel file asks for an ability of a target because of one table."""


def require_source_able(channel: Channel, source: object) -> None:
    """Raise Unsupported where the channel file asks for what its kind of source can't do: ADP-195, ADP-166."""
    for ability, is_asked in OF_SOURCES.items():
        if is_asked(channel):
            able(source, ability)


def require_able(at: ChannelAt, tables: Iterable[Table], place: object) -> None:
    """Raise Unsupported where the channel file asks for what a kind of target can't do, with the code of the ability.

    place: the target. tables: those of the source that are to be there.
    """
    for ability, is_asked in OF_TARGETS.items():
        if is_asked(at.channel):
            able(place, ability, f"target {at.target} is of a kind that")
    require_able_of_tables(at, taken_tables(at, tables), place)


def require_able_of_tables(at: ChannelAt, tables: Iterable[Table], place: object) -> None:
    """Raise Unsupported as `require_able` does, for what the channel file asks because of these tables alone.

    place: the target, or the replay.
    """
    who = f"{'replay' if at.is_replay else 'target'} {at.target} is of a kind that"
    for table in tables:
        for ability, is_asked_for in OF_TABLES.items():
            if is_asked_for(at, table.name):
                able(place, ability, who, table.name)
        if (own := at.settings(table.name).columns) != OwnColumns():
            able(place, HasOwnColumns).require_possible(own, table)
        if (arranging := find(place, ArrangesRows)) is not None:
            arranging.require_arrangement(table.with_(name=at.target_name(table.name)))
