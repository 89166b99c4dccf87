"""This module shows the channel at one of its targets: what the file says of each table there, worked out once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from weakref import finalize

from airflow_ddlrepl.config.sections import mapped_rows
from airflow_ddlrepl.config.sections.adapt_actions import AdaptAction
from airflow_ddlrepl.config.sections.places import Target, is_further
from airflow_ddlrepl.config.sections.policies import History
from airflow_ddlrepl.config.sections.table_mapping import ADAPTDDL
from airflow_ddlrepl.goldengate.parameters.mapping import mapped_name, target_of
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.settings.conflicts import ConflictAnswers
from airflow_ddlrepl.model.settings.table_settings import (
    NO_SETTINGS,
    ColumnName,
    Names,
    OwnColumns,
    Rows,
    TableSettings,
)

if TYPE_CHECKING:
    from airflow_ddlrepl.config.sections.channel import Channel

CHANGELOG = OwnColumns(
    time_key=True,
    extra={
        "_operation": "{operation}",
        "_position": "{position}",
        "_sequence": "{sequence}",
        "_committed": "{commit_time}",
        "_transaction": "{transaction}",
    },
)
"""The columns that a table of changes has besides the source's, under the names of the change feed."""
_known: dict[int, dict[tuple[str, TableName], TableSettings]] = {}
"""The settings of tables by the channel's identity, its target and the table's name at the source."""


@dataclass(frozen=True, slots=True, eq=False)
class ChannelAt:
    """The channel at one target or replay. Tables are named as at the source."""

    channel: Channel
    target: str

    @property
    def place(self) -> Target:
        """Return the target or replay. Raises KeyError when there is none of that name."""
        return self.channel.target(self.target)

    @property
    def is_replay(self) -> bool:
        """Return whether it is one of the `replays`."""
        return self.channel.is_replay(self.target)

    @property
    def actions(self) -> tuple[AdaptAction, ...]:
        """Return the actions at the target, those of the target before those of the channel."""
        return self.place.adapt_ddl + self.channel.adapt_ddl

    def target_name(self, name: TableName) -> TableName:
        """Return the name that a source's table has at the target.

        Its name: as table_properties say. At a target with a Replicat MAP says both; a table that no MAP lists is not
        there, and has its own name here.
        """
        place = self.place
        if place.replicat is not None:
            return target_of(name, place.replicat) or name
        called = next((p.name for p in self.channel.table_properties if p.applies_to(self.target, name)), name.name)
        is_second = place.history is History.CHANGELOG and is_further(self.target)
        return TableName(self.target_schema(name), f"{called}_changelog" if is_second else called)

    def target_schema(self, name: TableName) -> str:
        """Return the schema of a source's table at the target: the target's `schemas` come before integrate_schema."""
        place = self.place
        if place.replicat is not None:
            return self.target_name(name).schema
        schema = place.schemas.get(name.schema)
        if schema is None:
            actions = (a for a in self.channel.source_actions() if a.integrate_schema is not None and a.adds(name))
            schema = next((a.integrate_schema for a in actions), None)
        return schema or name.schema

    def replays(self, name: TableName) -> bool:
        """Return whether the target runs the text of the statements on a table."""
        if self.place.replicat is None and not self.channel.replays_text(name):
            return False
        settings = self.settings(name)
        is_unlike = settings.names.columns or settings.columns != NO_SETTINGS.columns or settings.rows.of_changes
        return not (is_unlike or settings.values)

    def settings(self, table: TableName) -> TableSettings:
        """Return what the file says of a table's names, rows, values and own columns at the target."""
        known = _settings_of(self.channel)
        found = known.get((self.target, table))
        if found is None:
            found = known[self.target, table] = self._settings(table) if self.channel.has_properties else NO_SETTINGS
        return found

    def refresh_limit(self, table: TableName, context: str) -> str:
        """Return which rows a refresh in this context replaces of a table that has rows at the target; empty: all.

        A replay has no limit: its rows come from archived loads.
        """
        limits = (p for p in self.channel.restrict if p.refresh and p.context in ("", context))
        found = next((p for p in limits if p.applies_to(self.target, table)), None)
        return found.refresh if found is not None and not self.is_replay else ""

    def refresh_limits(self, table: TableName) -> tuple[str, ...]:
        """Return the conditions of refreshes in any context."""
        return tuple(p.refresh for p in self.channel.restrict if p.refresh and p.applies_to(self.target, table))

    def _settings(self, table: TableName) -> TableSettings:
        of_channel, by = self.channel, self._parameters(table)
        function = next((p for p in of_channel.transform if p.applies_to(self.target, table)), None)
        settings = TableSettings(
            self._names(table, by),
            self._rows(table, by),
            function.values if function is not None else None,
            self._columns_of_target(table, by),
            self._conflicts(table, by),
        )
        return settings if settings != NO_SETTINGS else NO_SETTINGS

    def _parameters(self, table: TableName) -> mapped_rows.Parameters:
        of_channel = self.channel
        return mapped_rows.parameters_of(table, of_channel.source.extract, self.place.replicat)

    def _names(self, table: TableName, by: mapped_rows.Parameters) -> Names:
        listed = (p.called for p in self.channel.column_properties if p.applies_to(self.target, table))
        columns: tuple[ColumnName, ...] = (*mapped_rows.columns(by), *listed)
        called = next((p.name for p in self.channel.table_properties if p.applies_to(self.target, table)), None)
        replicat = self.place.replicat
        return Names(columns, called, mapped_name(table, replicat) if replicat is not None else None)

    def _rows(self, table: TableName, by: mapped_rows.Parameters) -> Rows:
        """Return which rows the target takes; of entries of the file the first that says so of changes decides."""
        entries = [p for p in self.channel.restrict if p.applies_to(self.target, table)]
        one = next((p for p in entries if p.is_of_changes), None)
        taken = one.rows if one is not None else mapped_rows.restriction(by) or Rows()
        limits = (p for p in entries if p.refresh and p.context in ("", ADAPTDDL))
        limit = next(limits, None) if not self.is_replay else None
        return taken if limit is None else replace(taken, refresh=limit.refresh, refresh_context=limit.context)

    def _columns_of_target(self, table: TableName, by: mapped_rows.Parameters) -> OwnColumns:
        entry = next((p for p in self.channel.target_tables if p.applies_to(self.target, table)), None)
        if self.place.history is History.CHANGELOG and (entry is None or is_further(self.target)):
            return CHANGELOG
        found = entry.own if entry is not None else mapped_rows.target_table(by)
        return found if found is not None else OwnColumns()

    def _conflicts(self, table: TableName, by: mapped_rows.Parameters) -> ConflictAnswers | None:
        entry = next((p for p in self.channel.conflicts if p.applies_to(self.target, table)), None)
        found = entry.answers if entry is not None else mapped_rows.conflicts(by)
        return None if found is None or found.is_empty else found


def _settings_of(channel: Channel) -> dict[tuple[str, TableName], TableSettings]:
    """Return the settings that are known of a channel; they go with it."""
    found = _known.get(id(channel))
    if found is None:
        found = _known[id(channel)] = {}
        finalize(channel, _known.pop, id(channel), None)
    return found
