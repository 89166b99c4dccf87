"""The status of a table at a target says whether it follows the source there, and why not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow_ddlrepl.config.sections.channel_at import ChannelAt
from airflow_ddlrepl.engines.source import LeftOut
from airflow_ddlrepl.engines.target_state import TargetState
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.scope.client import client_at
from airflow_ddlrepl.scope.decide import ChangeKind, decide

LEFT_OUT = "left out"
KEPT = "its table is gone at the source: it stays with its rows and gets no more. Drop {} there when nobody needs it"
LOADED_WHOLE = "loaded whole"  # by every cycle, or every so often: nothing of it is in the log


def tables_status(
    found: TargetState,
    latest: dict[int, Revision],
    lacks: tuple[Mapping[int, Sequence[str]], Mapping[int, int], Mapping[int, Mapping[str, int]]],
    without: Mapping[int, Sequence[str]],
    missing: Sequence[LeftOut],
) -> list[dict[str, Any]]:
    """Return the status of each table at a target. `lacks_from`: it has another part of the log than the target.

    lacks: why rows may differ, how many are discarded, and how conflicts were decided, by table. without: what stays at
    the source. missing: tables that are not in the stream; whatever the target has of them, they are not live.
    """
    aside = {one.table_id: left_out_status(one) for one in missing}
    differs, discarded, conflicts = lacks
    return [
        {
            "table": str(table_state.name),
            "table_id": number,
            "state": table_state.state.value,
            "revision": latest[number].number if number in latest else None,
            "may_differ": list(differs.get(number, ())),
            "left_at_source": list(without.get(number, ())),
            "discarded": discarded.get(number, 0),
            "conflicts": dict(conflicts.get(number, {})),
            "lacks_from": _lacks_from(found, table_state),
            **_reason(table_state, latest.get(number)),
            **aside.get(number, {}),
        }
        for number, table_state in sorted(found.table_states.items(), key=lambda item: item[1].name)
    ]


def _lacks_from(found: TargetState, table_state: TableState) -> str | None:
    """Return the place in the log from which on a table may lack changes; None: it has what its target has."""
    own = found.table_positions.get(table_state.table_id)
    if own is None and table_state.state is TableStatus.SUSPENDED and table_state.suspension is not None:
        own = table_state.suspension.at
    return str(Position(own.lsn)) if own is not None else None


def _reason(table_state: TableState, latest: Revision | None) -> dict[str, Any]:
    """Return why a table is suspended, was before it came to wait for a refresh, or is kept; and from where on."""
    known = table_state.suspension
    if table_state.state is TableStatus.ORPHANED and known is None:
        return {"since": str(Position(latest.key.lsn)) if latest else None, "why": KEPT.format(table_state.name)}
    if known is None:
        return {"since": None, "why": ""}
    return {"since": str(Position(known.at.lsn)), "why": str(known), "hint": known.hint}


def not_there(at: ChannelAt, found: TargetState, missing: Sequence[LeftOut]) -> list[dict[str, Any]]:
    """Return the status of tables that are not in the stream, and that the target would take and does not have."""
    return [
        {
            "table": str(at.target_name(one.name)),
            "table_id": one.table_id,
            "revision": None,
            "may_differ": [],
            "left_at_source": [],
            "discarded": 0,
            "conflicts": {},
            "lacks_from": None,
            **left_out_status(one),
        }
        for one in missing
        if one.table_id not in found.table_states and decide(client_at(at), one.name, ChangeKind.TABLE).is_taken
    ]


def left_out_status(one: LeftOut) -> dict[str, Any]:
    """Return the state of a table that is not in the stream, since when, and why."""
    return {
        "state": LOADED_WHOLE if one.is_reloaded else LEFT_OUT,
        "since": str(one.since) if one.since is not None else None,
        "why": one.why,
    }
