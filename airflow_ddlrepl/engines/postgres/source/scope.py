"""Which tables belong to a channel, decided alike here and by the event triggers inside the server.

Patterns are translated to PostgreSQL's regular expressions; `Scope` answers in Python, `to_json` is what
the helper schema stores.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.config.base.name_pattern import (
    TOKEN,
    any_matches,
    joins,
    matches,
    parts_about,
    split_table_pattern,
)
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.model.names import TableName

HELPER_SCHEMA = "ddlrepl"
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
        if not joins(name, rule.pattern, rule.ignore, rule.schema):
            return False
        return rule.schema is not None or any(matches(split_table_pattern(p)[0], name.schema) for p in self.tables)

    def to_json(self) -> dict[str, Any]:
        """Regular expressions for the server: [schema, table] pairs, for joining [schema, table, but not], for whole
        [schema, table, column].
        """
        schemas = sorted({split_table_pattern(p)[0] for p in self.tables})
        return {
            "tables": [_both(p) for p in self.tables],
            "exclude": [_both(p) for p in self.exclude],
            "joining": [
                [schema, regex(rule.pattern), None if rule.ignore is None else regex(rule.ignore)]
                for rule in self.joining
                for schema in ([regex(rule.schema)] if rule.schema is not None else map(regex, schemas))
            ]
            + [_within(one, other) for one in self.replayed for other in self.tables],
            "whole": [
                [*map(regex, ("*", *parts_about(one.table))[-2:]), None if one.column is None else regex(one.column)]
                for one in self.whole
            ],
        }


def regex(pattern: str) -> str:
    """The pattern as a PostgreSQL regular expression that matches the same whole names."""
    return f"^(?:{''.join(_piece(m) for m in TOKEN.finditer(pattern))})$"


def _both(pattern: str) -> list[str]:
    schema, table = split_table_pattern(pattern)
    return [regex(schema), regex(table)]


def _within(one: str, other: str) -> list[str | None]:
    """What both patterns match."""
    pairs = zip(split_table_pattern(one), split_table_pattern(other), strict=True)
    return [*(f"^(?={regex(a)[1:]}){regex(b)[1:]}" for a, b in pairs), None]


def _piece(match: re.Match[str]) -> str:
    quoted, negated, chars, star, one, alternative, char = match.groups()
    if quoted:
        return "".join(_escaped(c) for c in quoted.replace('""', '"'))
    if chars:
        both = chars if chars.lower() == chars.upper() else _ranges(chars.lower()) + _ranges(chars.upper())
        return f"[{'^' if negated else ''}{both if both != chars else _ranges(chars)}]"
    if star:
        return ".*"
    if one:
        return "."
    if alternative:
        return "|"
    variants = {char, char.lower(), char.upper()}
    single = sorted(_escaped(v) for v in variants if len(v) == 1)
    return single[0] if len(single) == 1 else f"[{''.join(single)}]"


def _ranges(chars: str) -> str:
    return re.sub(r"([\\\[\]^&~])", r"\\\1", chars)


def _escaped(char: str) -> str:
    return char if char.isalnum() or char == "_" or ord(char) > 127 else "\\" + char
