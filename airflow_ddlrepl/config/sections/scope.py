"""This module decides by name which tables belong to a channel: those it starts with, and those that join it later.

A source whose triggers decide it inside the server has the patterns translated by its engine.
"""

from __future__ import annotations

from dataclasses import dataclass

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.mapped_rows import needs_old_rows
from airflow_ddlrepl.config.sections.places import is_further


def discards(channel: Channel) -> bool:
    """Return whether targets may store rows that they do not take."""
    maps = [one for place in channel.targets if place.replicat for one in place.replicat.maps]
    conflicts = (*channel.conflicts, *(one.conflicts for one in maps if one.conflicts))
    return any(one.own.discards for one in channel.target_tables) or any(one.answers.discards for one in conflicts)


@dataclass(frozen=True, slots=True)
class Joining:
    """A joining rule is one add_table_pattern: new tables whose name matches join, unless `ignore` matches it, too.

    schema: the one schema it looks at; None: the schemas that the channel's `tables` name.
    """

    pattern: str
    ignore: str | None = None
    schema: str | None = None


@dataclass(frozen=True, slots=True)
class Whole:
    """This pattern names tables whose whole old rows a target reads.

    table: a pattern for the name or schema.name, as in the properties. column: only those that have a column which this
    pattern matches; None: all.
    """

    table: str
    column: str | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """A scope says by name which tables a channel has; `rules.decide` evaluates it.

    tables, exclude: `schema.table` patterns. joining: what admits new tables later. replayed: patterns of `replay_ddl`
    and of MAP: of the tables that `tables` match, these join, too. whole: tables whose old rows must be in the
    log as a whole.
    """

    tables: tuple[str, ...] = ("*.*",)
    exclude: tuple[str, ...] = ()
    joining: tuple[Joining, ...] = ()
    replayed: tuple[str, ...] = ()
    whole: tuple[Whole, ...] = ()

    @classmethod
    def of(cls, channel: Channel) -> Scope:
        """Return the scope that a channel file describes."""
        actions = [a for a in channel.source_actions() if a.add_table_pattern]
        restricted = [Whole(table) for one in channel.restrict for table in one.tables]
        transformed = [
            Whole(table, column) for one in channel.transform for table in one.tables for column in one.columns
        ]
        extract = channel.source.extract
        tables = extract.tables if extract else ()
        places = [one for one in channel.targets if not is_further(one.name)]
        maps = [one for place in places if place.replicat for one in place.replicat.maps]
        listed = [Whole(one.table) for one in tables if needs_old_rows(one) or (extract and extract.add_trandata)]
        listed += [Whole(one.source) for one in maps if needs_old_rows(one)]
        histories = [Whole(table) for one in channel.target_tables if one.own.needs_old_rows for table in one.tables]
        histories += [Whole("*")] if channel.places_of_changes else []
        contested = [Whole(table) for one in channel.conflicts for table in one.tables]
        subsets = [Whole(table) for table in channel.clients.subset_tables()]
        return cls(
            channel.source.tables,
            channel.source.exclude,
            tuple(Joining(str(a.add_table_pattern), a.ignore_table_pattern, a.capture_schema) for a in actions),
            (
                *(pattern for entry in channel.replay_ddl for pattern in entry.tables),
                *(one.source for one in maps),
            ),
            (*restricted, *transformed, *histories, *contested, *listed, *subsets),
        )
