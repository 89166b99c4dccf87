"""Find what actions say that a channel file can't say: for some tables or targets alone, or by placeholders."""

from __future__ import annotations

import re
from collections.abc import Iterator

from airflow_ddlrepl.hvr.definitions.definition import ALL, HvrAction, HvrDefinition
from airflow_ddlrepl.hvr.definitions.sides import Sides
from airflow_ddlrepl.hvr.definitions.table_names import CURRENT_SCHEMA, TableNames

_PLACEHOLDER = re.compile(r"[<>{}\[\]%&]")
_NAMES = ("Schema", "BaseName", "CaptureSchema", "IntegrateSchema", "Name")
Found = tuple[int, str, str]
"""The line of an action, what it is called, and why it is refused."""


def placeholder(action: HvrAction) -> str | None:
    """Return which name of an action is a placeholder that nobody has filled in; None: none is."""
    names = {"location": action.locations, "table": action.tables}
    names |= {name: str(action.values[name]) for name in _NAMES if name in action.values}
    for what, name in names.items():
        if (sign := _PLACEHOLDER.search(name)) is not None:
            return f"the {what} {name} has a {sign[0]}, which no name has: fill the placeholder in"
    return None


def general_notes(definition: HvrDefinition, sides: Sides) -> Iterator[tuple[str, str]]:
    """Yield what a definition as a whole leaves open: what it is called, and what to do."""
    for location in sides.guessed:
        yield location, f"no action names the {location}: set its location"
    if definition.tables is None:
        yield "tables", f"the file lists no tables: all of schema {CURRENT_SCHEMA} are taken; set source.tables"
    elif any(table.has_columns for table in definition.tables.values()):
        yield (
            "tables",
            "columns and keys are those of the source: one that the definition lacks arrives, too; leave it out by"
            " `column_properties` with absent, and set another key by `target_tables`",
        )


def partial_actions(definition: HvrDefinition, sides: Sides, names: TableNames) -> Iterator[Found]:
    """Yield the actions for some tables or targets, where a channel does the same for all of them."""
    for name, locations in (("Capture", [sides.source]), ("Integrate", [*sides.targets])):
        for location in locations:
            yield from _of_some_tables(definition, sides, names, name, location)
    sequences = [one for one in definition.actions if one.name == "DbSequence"]
    reached = {location for one in sequences for location in sides.reaches(one.locations)}
    missing = [location for location in sides.targets if location not in reached]
    if sequences and sides.source in reached and missing and len(missing) < len(sides.targets):
        why = f"sequences go to all targets or to none, and {missing[0]} has no DbSequence: write a channel for it"
        yield sequences[0].line, "DbSequence", why


def _of_some_tables(
    definition: HvrDefinition, sides: Sides, names: TableNames, name: str, location: str
) -> Iterator[Found]:
    actions = [one for one in definition.actions if one.name == name and location in sides.reaches(one.locations)]
    scopes = {one.tables for one in actions}
    if not actions or ALL in scopes:
        return
    covered = {table for scope in scopes for table in names.selected(scope)}
    if names.tables and covered == names.tables.keys():
        return
    verb = "captured" if name == "Capture" else "integrated"
    why = f"only {', '.join(sorted(scopes))} is {verb} at {location}, and a channel takes all its tables: list those"
    yield actions[0].line, name, f"{why} in source.tables"
