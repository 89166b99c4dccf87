"""This module defines the section `replay_ddl`: the targets run the text of the source's DDL for the tables it names.

This is GoldenGate's way. Every other table is inspected and adapted; no table is both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from pydantic import Field

from airflow_ddlrepl.config.sections.adapt_actions import AdaptAction
from airflow_ddlrepl.ddl.sql.statement_code import EXPRESSIONS, Code
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.notation.name_pattern import any_matches, is_pattern, matches
from airflow_ddlrepl.notation.pattern_overlap import Pair, schema_and_name, tables_intersect
from airflow_ddlrepl.notation.section import Section, TablePattern

_JOINING = {"add_table_pattern", "ignore_table_pattern", "capture_schema"}
NOT_BOTH = "no table is both replayed and adapted"


class ReplayEntry(Section):
    """An entry names tables whose schema changes reach every target as the text of the source's statement.

    New tables that `tables` here and the source's `tables` match join the channel. No action of `adapt_ddl` may be
    about a replayed table, and at a target it has the name and the columns that it has at the source.
    """

    tables: tuple[TablePattern, ...] = Field(min_length=1, description='patterns "schema.table", as at the source')
    exclude: tuple[TablePattern, ...] = Field((), description="tables that are adapted although `tables` matches them")
    code: tuple[Literal[Code.EXPRESSION], ...] = Field((), description=EXPRESSIONS)

    def covers(self, name: TableName) -> bool:
        """Return whether the entry is for this table."""
        return any_matches(self.tables, name) and not any_matches(self.exclude, name)

    def overlapping_pattern(self, other: Pair) -> str | None:
        """Return the entry's pattern that can match the same table as the other patterns; None: there is none."""
        if _is_left_out(other, self.exclude):
            return None
        return next((own for own in self.tables if tables_intersect(schema_and_name(own), other)), None)


def runs_expressions(entries: Sequence[ReplayEntry], name: TableName) -> bool:
    """Return whether texts on a table may call whatever they call."""
    return all(entry.code for entry in entries if entry.covers(name))


def _is_left_out(other: Pair, exclude: Sequence[str]) -> bool:
    """Return whether `exclude` covers the pair of patterns, as a pattern or as a table's name.

    A pattern with quotes excludes less than the one without, so only equal ones count.
    """
    plain = [schema_and_name(pattern) for pattern in exclude if '"' not in pattern]
    if other in map(schema_and_name, exclude):
        return True
    if any(is_pattern(part) or '"' in part for part in other):
        return False
    return any(matches(schema, other[0]) and matches(table, other[1]) for schema, table in plain)


def require_no_overlap(
    entries: Sequence[ReplayEntry],
    actions: Mapping[str, Sequence[AdaptAction]],
    properties: Mapping[str, Sequence[str]],
    schemas: Mapping[str, Mapping[str, str]],
) -> None:
    """Raise ValueError for the first action or setting that can be about a table of a `replay_ddl` entry.

    actions: lists of AdaptDDL actions by their place in the file. properties: patterns of tables by theirs.
    schemas: what each target calls schemas, by its place.
    """
    for number, entry in enumerate(entries):
        here = f"entry [{number}]"
        for place, covered in _covered(actions):
            if own := entry.overlapping_pattern(covered):
                raise ValueError(f"{here}: {own} and {place} can be about the same table, and {NOT_BOTH}: {_SPLIT}")
        for place, patterns in properties.items():
            for pattern in patterns:
                if own := entry.overlapping_pattern(schema_and_name(pattern)):
                    raise ValueError(f"{here}: {own} can be a table of {place}: {_AS_IT_IS}")
        for place, renamed in schemas.items():
            for schema in (schema for schema, name in renamed.items() if schema != name):
                if any(matches(schema_and_name(own)[0], schema) for own in entry.tables):
                    raise ValueError(f"{here}: {place} gives schema {schema} another name: {_AS_IT_IS}")


_SPLIT = (
    "give the action a `table` (or a capture_schema, when it says only which tables join) without these tables,"
    " or name tables in the entry's `exclude`"
)
_AS_IT_IS = (
    "the text of a statement can't be renamed, and is about all rows as they are. Name such tables in `exclude` of the"
    " entry, then they are adapted; or leave them as they are at the source"
)


def _covered(actions: Mapping[str, Sequence[AdaptAction]]) -> Iterator[tuple[str, Pair]]:
    """Return the tables that each action is about, as a pair of patterns, with the action's place in the file."""
    for place, listed in actions.items():
        for number, action in enumerate(listed):
            here, keys = f"{place}[{number}]", action.model_fields_set
            if not (action.table == "*" and action.capture_schema is not None and keys <= _JOINING):
                yield here, schema_and_name(action.table)
            if action.integrate_schema is not None:
                yield here, (action.capture_schema or "*", action.add_table_pattern or "*")
