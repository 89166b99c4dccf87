"""HVR's Restrict becomes an entry of `restrict` in the channel file."""

from __future__ import annotations

from typing import Any

from airflow_ddlrepl.hvr.definitions.definition import HvrAction
from airflow_ddlrepl.hvr.definitions.sides import Sides
from airflow_ddlrepl.hvr.definitions.table_names import TableNames
from airflow_ddlrepl.notation.import_findings import Fate

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
