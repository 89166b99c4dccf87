"""Compile an HVR channel into the data of a channel file, and list what has no counterpart there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from airflow_ddlrepl.config.sections.adapt_actions import AdaptAction
from airflow_ddlrepl.config.sections.table_mapping import ColumnProperty, Restriction, TableProperty
from airflow_ddlrepl.hvr.action_text import read_parameters
from airflow_ddlrepl.hvr.definitions.definition import ALL, HvrAction, HvrDefinition, Problems
from airflow_ddlrepl.hvr.definitions.passed_over import general_notes, partial_actions, placeholder
from airflow_ddlrepl.hvr.definitions.read_text import unknown_action, unknown_parameters
from airflow_ddlrepl.hvr.definitions.sides import Sides, sides_of
from airflow_ddlrepl.hvr.definitions.table_names import CURRENT_SCHEMA, TableNames, literal
from airflow_ddlrepl.hvr.definitions.target_tables import TargetColumns
from airflow_ddlrepl.hvr.definitions.vocabulary import ACTIONS, entry, without_parameters
from airflow_ddlrepl.notation.import_findings import WORST_FIRST, Fate, Finding, message

_METHODS = ("BURST", "CONTINUOUS", "AUTO")


@dataclass(slots=True)
class Compiled:
    """A compiled channel is the data of a channel file, with what is not in it."""

    channel: dict[str, Any]
    findings: list[Finding] = field(default_factory=list)


def compile_channel(definition: HvrDefinition, name: str) -> Compiled:
    """Return the channel file's data for an HVR channel. name: of the channel, when the definition has none.

    Raises Problems for an unknown action or parameter, or a value of AdaptDDL that is not possible, with their lines;
    ConfigError CFG-142 when the channel's sides don't make one of ours.
    """
    if problems := list(_unknown(definition)):
        raise Problems(problems)
    sides = sides_of(definition)
    compiler = _Compiler(definition, sides)
    compiler.run()
    if compiler.problems:
        raise Problems(compiler.problems)
    data = compiler.channel(_channel_name(definition.name or name)) | db_sequence(definition, sides)
    return Compiled(data, sorted(compiler.findings, key=_order))


def _order(finding: Finding) -> tuple[int, int]:
    return WORST_FIRST.index(finding.fate), finding.line


def _channel_name(name: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:40]
    return name if name[:1].isalpha() else f"c{name}"[:40]


def _unknown(definition: HvrDefinition) -> Iterator[tuple[int, str]]:
    for action in definition.actions:
        if action.name not in ACTIONS:
            yield action.line, unknown_action(action.name)
        else:
            yield from ((action.line, text) for text in unknown_parameters(action))


class _Compiler:
    """This compiler takes a definition's actions one by one."""

    def __init__(self, definition: HvrDefinition, sides: Sides) -> None:
        self._definition, self._sides = definition, sides
        self._names = TableNames(definition, sides)
        self._adapt: dict[str, list[dict[str, Any]]] = {}
        self._properties: dict[str, list[dict[str, Any]]] = {}
        self._no_truncate = False
        self._ignored: list[str] = []
        self._target_columns = TargetColumns(sides, self._names, self._find)
        self.findings: list[Finding] = []
        self.problems: list[tuple[int, str]] = []

    def run(self) -> None:
        """Compile every action; findings and problems are collected."""
        for what, why in general_notes(self._definition, self._sides):
            self._find(1, Fate.ATTENTION, what, why)
        for action in self._definition.actions:
            if action.name == "TableProperties" and not self._lacks(action) and placeholder(action) is None:
                self._names.add(action)
        for action in self._definition.actions:
            self._take(action)
        for line, what, why in partial_actions(self._definition, self._sides, self._names):
            self._find(line, Fate.REFUSED, what, why)

    def _take(self, action: HvrAction) -> None:
        takes = getattr(self, f"_{action.name.lower()}", None)
        if not action.values and (lost := without_parameters(action.name)).fate is not None:
            self._find(action.line, lost.fate, action.name, lost.why)
        for name in action.values:
            found = entry(action.name, name)
            if found.fate is not None:
                self._find(action.line, found.fate, f"{action.name} {name}", found.why)
        reached = self._sides.reaches(action.locations)
        if (told := placeholder(action)) is not None:
            self._find(action.line, Fate.REFUSED, action.name, told)
        elif not reached & {self._sides.source, *self._sides.targets}:
            why = f"{action.locations} is neither the channel's source nor one of its targets"
            self._find(action.line, Fate.REFUSED, action.name, why)
        elif takes is not None and not (self._lacks(action) and action.name not in ("Capture", "Integrate")):
            takes(action)

    def _lacks(self, action: HvrAction) -> bool:
        """Return whether a parameter is refused, and with it the whole action: half of it means another thing."""
        return any(entry(action.name, name).fate is Fate.REFUSED for name in action.values)

    def _capture(self, action: HvrAction) -> None:
        own = [name for name in ("NoTruncate", "IgnoreSessionName") if name in action.values]
        if action.tables != ALL and own:
            why = f"it holds for all tables of a channel here, and not for {action.tables} alone"
            self._find(action.line, Fate.REFUSED, f"Capture {own[0]}", why)
            return
        self._no_truncate |= "NoTruncate" in action.values
        if name := action.values.get("IgnoreSessionName"):
            self._ignored.append(str(name))
            why = "`known_by: triggers` costs a trigger on each table: read docs/postgresql.md, or write `messages`"
            self._find(action.line, Fate.ATTENTION, "Capture IgnoreSessionName", why)

    def _integrate(self, action: HvrAction) -> None:
        method = str(action.values.get("Method", _METHODS[0])).upper()
        if method not in _METHODS:
            why = f"a target has the source's rows as they are now, and no {method}"
            self._find(action.line, Fate.REFUSED, "Integrate Method", why)

    def _adaptddl(self, action: HvrAction) -> None:
        values = dict(action.values)
        options = str(values.get("RefreshOptions") or "").split()
        if isolated := [word for word in options if word.startswith("-i") and word not in ("-i", "-inow")]:
            why = "tables are isolated at the beginning of their refresh (-inow), or not at all"
            self._find(action.line, Fate.ATTENTION, f"AdaptDDL RefreshOptions {isolated[0]}", why)
            values["RefreshOptions"] = " ".join(word for word in options if word not in isolated)
        try:
            data = read_parameters(values)
            patterns = self._names.patterns(action.tables)
            AdaptAction.model_validate(data)
        except (ValueError, ValidationError) as error:
            self.problems.append((action.line, f"AdaptDDL: {message(error)}"))
            return
        if patterns is None:
            self._no_table(action)
            return
        schemas = sorted({self._names.source_name(name)[0] for name in self._names.tables})
        if "add_table_pattern" in data and "capture_schema" not in data and schemas not in ([], [CURRENT_SCHEMA]):
            why = f"HVR looks at the current schema, here new tables of {', '.join(schemas)} join: set capture_schema"
            self._find(action.line, Fate.ATTENTION, "AdaptDDL AddTablePattern", why)
        if "add_table_pattern" in data and "integrate_schema" not in data and data.get("capture_schema"):
            self._names.new_schemas.append(str(data["capture_schema"]))
        for pattern in patterns:
            one = data if pattern == ALL else {"table": pattern, **data}
            for place in self._sides.places(action.locations):
                self._adapt.setdefault(place, []).append(one)

    def _tableproperties(self, action: HvrAction) -> None:
        if (policy := action.values.get("CoerceErrorPolicy")) is not None:
            self._target_columns.coerced(action, str(policy).upper())
        if self._definition.tables is not None:
            if not self._names.selected(action.tables):
                self._no_table(action)
            return
        reaches_source = self._sides.source in self._sides.reaches(action.locations)
        if "BaseName" in action.values:
            if reaches_source or action.tables == ALL:
                why = (
                    "only one table's name at targets can be set without the channel's list of tables: import its JSON"
                )
                self._find(action.line, Fate.REFUSED, "TableProperties BaseName", why)
            else:
                data = {"tables": [literal(action.tables)], "name": action.values["BaseName"]}
                self._property("table_properties", TableProperty, action, data)
        if "Schema" in action.values and (reaches_source or action.tables != ALL):
            why = (
                "source.tables and a target's `schemas` say where tables are: import the channel's JSON, or write them"
            )
            self._find(action.line, Fate.REFUSED, "TableProperties Schema", why)

    def _columnproperties(self, action: HvrAction) -> None:
        reached, name = self._sides.reaches(action.locations), action.values.get("Name")
        if name is not None and action.values.keys() - {"Name", "BaseName", "Absent"}:
            self._target_columns.column(action, str(name))
        elif name is None or ("BaseName" not in action.values and "Absent" not in action.values):
            why = "it says neither a column's name at the targets, nor that they lack it"
            self._find(action.line, Fate.REFUSED, "ColumnProperties", why)
        elif "BaseName" in action.values and self._sides.source in reached:
            why = "columns have the source's names: write the action for the targets alone"
            self._find(action.line, Fate.REFUSED, "ColumnProperties BaseName", why)
        else:
            renamed = {"name": action.values["BaseName"]} if "BaseName" in action.values else {"absent": True}
            patterns = self._names.patterns(action.tables)
            data = {"tables": patterns, "columns": literal(name), **renamed}
            self._property("column_properties", ColumnProperty, action, data)

    def _restrict(self, action: HvrAction) -> None:
        data, findings = restriction(action, self._sides, self._names)
        for fate, what, why in findings:
            self._find(action.line, fate, what, why)
        if data is not None:
            self._property("restrict", Restriction, action, data)

    def _property(self, key: str, section: type[Any], action: HvrAction, data: dict[str, Any]) -> None:
        """Add an entry to a section of the channel file, or say why it can't be one."""
        if data["tables"] is None:
            self._no_table(action)
            return
        names = self._sides.target_names(action.locations)
        everywhere = self._sides.source in self._sides.reaches(action.locations)
        if not everywhere and set(names) < set(self._sides.targets.values()):
            data["targets"] = list(names)
        try:
            section.model_validate(data)
        except ValidationError as error:
            self._find(action.line, Fate.REFUSED, action.name, message(error))
        else:
            self._properties.setdefault(key, []).append(data)

    def _no_table(self, action: HvrAction) -> None:
        self._find(action.line, Fate.REFUSED, action.name, f"the channel has no table or table group {action.tables}")

    def _find(self, line: int, fate: Fate, what: str, why: str) -> None:
        self.findings.append(Finding(line, fate, what, why))

    def channel(self, name: str) -> dict[str, Any]:
        """Return the data of the channel file."""
        tables = [self._names.source_pattern(one) for one in self._names.tables] or [f"{CURRENT_SCHEMA}.*"]
        adapt = {place: {"adapt_ddl": actions} for place, actions in self._adapt.items()}
        named = list(self._names.properties())
        if entries := self._target_columns.entries():
            self._properties["target_tables"] = entries
        properties = dict(sorted(self._properties.items()))
        if named:
            properties["table_properties"] = [*named, *properties.get("table_properties", [])]
        return {
            "channel": name,
            "defaults": "hvr",
            "source": {"location": self._sides.source, "tables": tables, **adapt.get(self._sides.source, {})},
            "targets": [
                {"name": target, "location": location, **self._schemas(location), **adapt.get(location, {})}
                for location, target in self._sides.targets.items()
            ],
            **adapt.get("", {}),
            **properties,
            **self._capture_section(),
        }

    def _capture_section(self) -> dict[str, Any]:
        found: dict[str, Any] = {"no_truncate": True} if self._no_truncate else {}
        if self._ignored:
            found["ignore_sessions"] = {"names": list(dict.fromkeys(self._ignored)), "known_by": "triggers"}
        return {"capture": found} if found else {}

    def _schemas(self, location: str) -> dict[str, Any]:
        schemas, several = self._names.schemas(location)
        for schema in several:
            why = f"tables of schema {schema} go to several schemas of {location}; here a schema goes to one"
            self.findings.append(Finding(1, Fate.REFUSED, "TableProperties Schema", why))
        return {"schemas": schemas} if schemas else {}


def db_sequence(definition: HvrDefinition, sides: Sides) -> dict[str, Any]:
    """Return the section for a channel's DbSequence actions; empty where they do not reach both of its sides."""
    actions = [one for one in definition.actions if one.name == "DbSequence" and not _is_refused(one)]
    reached = {location for one in actions for location in sides.reaches(one.locations)}
    if sides.source not in reached or not reached & set(sides.targets):
        return {}
    if not set(sides.targets) <= reached:
        return {}
    if any(not one.values for one in actions):
        return {"db_sequence": True}
    return {"db_sequence": list(dict.fromkeys(map(_pattern, actions)))}


def _is_refused(action: HvrAction) -> bool:
    return any(entry(action.name, name).fate is Fate.REFUSED for name in action.values)


def _pattern(action: HvrAction) -> str:
    name, schema = action.values.get("Name"), action.values.get("Schema") or CURRENT_SCHEMA
    return f"{literal(schema)}.{literal(name) if name else '*'}"


_CONDITIONS = {"CaptureCondition": "capture", "IntegrateCondition": "integrate", "RefreshCondition": "refresh"}
Findings = list[tuple[Fate, str, str]]


def restriction(action: HvrAction, sides: Sides, names: TableNames) -> tuple[dict[str, Any] | None, Findings]:
    """Return the entry for an action, None where there is none, and what is to be said of it: fate, what, why."""
    given = {name: str(action.values[name]) for name in _CONDITIONS if name in action.values}
    if not given:
        return None, []
    reached = sides.reaches(action.locations)
    acts = {"CaptureCondition": sides.source in reached, "IntegrateCondition": bool(reached & {*sides.targets})}
    if any(name in given and not does for name, does in acts.items()):
        why = "a CaptureCondition acts at the source, an IntegrateCondition at targets"
        return None, [(Fate.REFUSED, f"Restrict {', '.join(given)}", why)]
    data: dict[str, Any] = {"tables": names.patterns(action.tables)}
    of_changes = {given[name] for name, does in acts.items() if does and name in given}
    if of_changes == {given.get("RefreshCondition")} and "Context" not in action.values:
        return {**data, "condition": given["RefreshCondition"]}, []
    data |= {_CONDITIONS[name]: text for name, text in given.items()}
    if context := action.values.get("Context"):
        data["context"] = str(context).lower()
    if "RefreshCondition" not in given:
        return data, []
    why = "it is for refreshes of tables that have rows: a table's first load takes all of them"
    return data, [(Fate.ATTENTION, "Restrict RefreshCondition", why)]
