"""Find the names that the tables of an HVR channel have at the source and at its targets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from airflow_ddlrepl.hvr.definitions.definition import ALL, HvrAction, HvrDefinition, HvrTable
from airflow_ddlrepl.hvr.definitions.sides import Sides

CURRENT_SCHEMA = "public"
_PLAIN = re.compile(r"\w+", re.ASCII)


def literal(name: str) -> str:
    """Return the name pattern that stands for this name alone; a plain name ignores case."""
    return name if _PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"'


@dataclass(slots=True)
class TableNames:
    """The names of a channel's tables, as TableProperties set them.

    tables: by HVR's name; None: the definition does not list them. new_schemas: whose new tables join.
    """

    definition: HvrDefinition
    sides: Sides
    _actions: list[HvrAction] = field(default_factory=list)
    new_schemas: list[str] = field(default_factory=list)

    def add(self, action: HvrAction) -> None:
        """Take a TableProperties action into account."""
        self._actions.append(action)

    @property
    def tables(self) -> dict[str, HvrTable]:
        """Return the tables that the definition lists, by HVR's name."""
        return dict(self.definition.tables or {})

    def selected(self, scope: str) -> list[str]:
        """Return HVR's names of the tables in a scope: a table, a table group, or `*`."""
        return [name for name, table in self.tables.items() if scope in (ALL, name, table.group)]

    def patterns(self, scope: str) -> list[str] | None:
        """Return name patterns for the source's tables in a scope; None: the channel has no such table."""
        if scope == ALL:
            return [ALL]
        if self.definition.tables is None:
            return [literal(scope)]
        return [self.source_pattern(name) for name in self.selected(scope)] or None

    def source_pattern(self, name: str) -> str:
        """Return the `schema.table` pattern of a table at the source, by HVR's name."""
        schema, table = self.source_name(name)
        return f"{literal(schema)}.{literal(table)}"

    def source_name(self, name: str) -> tuple[str, str]:
        """Return schema and name of a table at the source, by HVR's name."""
        base = self.tables[name].base_name
        source = self.sides.source
        return self._value("Schema", name, source) or CURRENT_SCHEMA, self._value("BaseName", name, source) or base

    def target_name(self, name: str, location: str) -> tuple[str | None, str]:
        """Return schema (None: as at the source) and name of a table at a target's location, by HVR's name."""
        base = self.tables[name].base_name
        return self._value("Schema", name, location), self._value("BaseName", name, location) or base

    def _value(self, parameter: str, table: str, location: str) -> str | None:
        """Return what the most specific action sets for a table at a location."""
        found = [
            one for one in self._actions if parameter in one.values and location in self.sides.reaches(one.locations)
        ]
        ranked = sorted((r, one.values[parameter]) for one in found if (r := self._rank(one.tables, table)) is not None)
        return ranked[0][1] if ranked else None

    def _rank(self, scope: str, table: str) -> int | None:
        wanted = (table, self.tables[table].group, ALL)
        return wanted.index(scope) if scope in wanted else None

    def properties(self) -> Iterator[dict[str, object]]:
        """Return the entries of `table_properties`: tables whose name at a target differs from the source's."""
        for name in self.tables:
            source, targets = self.source_name(name)[1], dict[str, list[str]]()
            for location, target in self.sides.targets.items():
                targets.setdefault(self.target_name(name, location)[1], []).append(target)
            for called, at in targets.items():
                if called != source:
                    some = {} if len(at) == len(self.sides.targets) else {"targets": at}
                    yield {"tables": [self.source_pattern(name)], "name": called, **some}

    def schemas(self, location: str) -> tuple[dict[str, str], list[str]]:
        """Return a target's schemas by the source's, and the source's schemas whose tables go to several."""
        found: dict[str, set[str | None]] = {}
        for name in self.tables:
            found.setdefault(self.source_name(name)[0], set()).add(self.target_name(name, location)[0])
        if self.definition.tables is None:
            found = {CURRENT_SCHEMA: {self._any("Schema", location)}}
        for schema in self.new_schemas:
            found.setdefault(schema, set()).add(self._any("Schema", location))
        several = sorted(schema for schema, at in found.items() if len(at) > 1)
        one = {schema: at.copy().pop() for schema, at in found.items() if len(at) == 1}
        return {schema: at for schema, at in one.items() if at is not None and at != schema}, several

    def _any(self, parameter: str, location: str) -> str | None:
        reached = (a for a in self._actions if a.tables == ALL and location in self.sides.reaches(a.locations))
        return next((a.values[parameter] for a in reached if parameter in a.values), None)
