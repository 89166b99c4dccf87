"""HVR's DbSequence becomes `db_sequence` of the channel file."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.hvr.definitions.definition import HvrAction, HvrDefinition
from airflow_ddlrepl.hvr.definitions.sides import Sides
from airflow_ddlrepl.hvr.definitions.table_names import CURRENT_SCHEMA, literal
from airflow_ddlrepl.hvr.definitions.vocabulary import entry
from airflow_ddlrepl.notation.import_findings import Fate


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
