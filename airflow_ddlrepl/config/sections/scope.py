"""Which tables belong to a channel: those that it starts with, and those that join it later.

A source whose triggers decide it inside the server has the patterns translated by its engine.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from airflow_ddlrepl.config.base.name_pattern import (
    any_matches,
    matches,
    matches_new_table,
    split_table_pattern,
)
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.model.names import TableName

SYSTEM_SCHEMA = re.compile(r"pg_.*|information_schema|ddlrepl", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Joining:
    """One add_table_pattern: new tables whose name matches join, unless `ignore` matches it, too.

    schema: the one schema it looks at; None: the schemas that the channel's `tables` name.
    """

    pattern: str
    ignore: str | None = None
    schema: str | None = None


@dataclass(frozen=True, slots=True)
class Whole:
    """Tables whose whole old rows a target looks at: a pattern for the name or schema.name, as in the properties.

    column: only those that have a column which this pattern matches; None: all.
    """

    table: str
    column: str | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """tables, exclude: `schema.table` patterns; joining: what admits new tables later. replayed: patterns of
    `replay_ddl`: of the tables that `tables` match, these join, too. whole: whose old rows the log is to tell whole.
    """

    tables: tuple[str, ...] = ("*.*",)
    exclude: tuple[str, ...] = ()
    joining: tuple[Joining, ...] = ()
    replayed: tuple[str, ...] = ()
    whole: tuple[Whole, ...] = ()

    @classmethod
    def of(cls, channel: Channel) -> Scope:
        """The scope that a channel file describes."""
        actions = [a for a in channel.source_actions() if a.add_table_pattern]
        restricted = [Whole(table) for one in channel.restrict for table in one.tables]
        transformed = [
            Whole(table, column) for one in channel.transform for table in one.tables for column in one.columns
        ]
        return cls(
            channel.source.tables,
            channel.source.exclude,
            tuple(Joining(str(a.add_table_pattern), a.ignore_table_pattern, a.capture_schema) for a in actions),
            tuple(pattern for entry in channel.replay_ddl for pattern in entry.tables),
            (*restricted, *transformed),
        )

    def wants(self, name: TableName) -> bool:
        """Is it one of the tables that the channel starts with?"""
        return self._may_have(name) and any_matches(self.tables, name)

    def joins(self, name: TableName) -> bool:
        """Would a table that is created, or renamed to this, join the channel?"""
        if not self._may_have(name):
            return False
        is_replayed = any_matches(self.replayed, name) and any_matches(self.tables, name)
        return is_replayed or any(self._admits(rule, name) for rule in self.joining)

    def admits(self, name: TableName) -> bool:
        """Either of both."""
        return self.wants(name) or self.joins(name)

    def excludes(self, name: TableName) -> bool:
        """Is it kept out by name?"""
        return any_matches(self.exclude, name)

    def _may_have(self, name: TableName) -> bool:
        return not SYSTEM_SCHEMA.fullmatch(name.schema) and not self.excludes(name)

    def _admits(self, rule: Joining, name: TableName) -> bool:
        if not matches_new_table(name, rule.pattern, rule.ignore, rule.schema):
            return False
        return rule.schema is not None or any(matches(split_table_pattern(p)[0], name.schema) for p in self.tables)
