"""A table stays in the target's schema where it is, whatever schema the channel file gives it later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.policies import Defaults
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.model.table_state import TableState, TableStatus


def misplaced(channel: Channel, target: str, now: TableState, known: Revision | None) -> str:
    """Return in words that the channel file gives the target's table another schema than it has; empty: it does not.

    known: the table's newest revision.
    """
    if known is None or known.table is None or now.state is not TableStatus.LIVE or channel.defaults is Defaults.HVR:
        return ""
    wanted = channel.target_name(target, known.table.name)
    if wanted.schema == now.name.schema:
        return ""
    return (
        f"it stays {now.name}, although `schemas` or integrate_schema say {wanted} since it was loaded: set them back,"
        " or name the database as another target with these schemas, which is loaded beside it"
    )


def with_misplaced(
    channel: Channel,
    target: str,
    states: Mapping[int, TableState],
    latest: Mapping[int, Revision],
    rows: list[dict[str, Any]],
) -> list[dict[str, Any]]:
    """Return the status of tables at a target with the reason of each that is not where the channel file says."""
    for row in rows:
        if not row["why"] and (now := states.get(row["table_id"])) is not None:
            row["why"] = misplaced(channel, target, now, latest.get(row["table_id"]))
    return rows
