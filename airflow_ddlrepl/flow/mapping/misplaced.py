"""A table stays in the target's schema where it is, whatever schema the channel file gives it later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_ddlrepl.config.sections.channel_at import ChannelAt
from airflow_ddlrepl.config.sections.policies import Defaults
from airflow_ddlrepl.config.sections.scope import Scope
from airflow_ddlrepl.goldengate.parameters.mapping import target_of
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.revision import Revision
from airflow_ddlrepl.model.table_state import TableState, TableStatus
from airflow_ddlrepl.scope.client import Client
from airflow_ddlrepl.scope.decide import ChangeKind, decide

EXCLUDED = "the channel file excludes it: it stays as it was when it left"


def misplaced(at: ChannelAt, now: TableState, known: Revision | None) -> str:
    """Return in words that the file gives the target's table another schema than it has, or none; empty: it does not.

    known: the table's newest revision.
    """
    if known is None or known.table is None or now.state is not TableStatus.LIVE or at.channel.defaults is Defaults.HVR:
        return ""
    replicat = at.place.replicat
    if replicat is not None and target_of(known.table.name, replicat) is None:
        return (
            f"no MAP lists {known.table.name} for it: {now.name} stays as it is and gets no more rows; drop it, or let"
            " MAP list the name"
        )
    if at.target_schema(known.table.name) == now.name.schema:
        return ""
    wanted = at.target_name(known.table.name)
    return (
        f"it stays {now.name}, although `schemas` or integrate_schema say {wanted} since it was loaded: set them back,"
        " or name the database as another target with these schemas, which is loaded beside it"
    )


def with_misplaced(
    at: ChannelAt,
    states: Mapping[int, TableState],
    latest: Mapping[int, Revision],
    rows: list[dict[str, Any]],
) -> list[dict[str, Any]]:
    """Return the status of tables at a target, with the reason of each that is not where the channel file says.

    A table that the file excludes is no longer live: it stays as it was when it left.
    """
    scope = Scope.of(at.channel)
    client = Client(scope) if scope.exclude else None
    for row in rows:
        number = row["table_id"]
        known = latest.get(number)
        if client and known is not None and known.table is not None and _is_excluded(client, known.table.name):
            row |= {"state": "left out", "why": row["why"] or EXCLUDED}
        elif not row["why"] and (now := states.get(number)) is not None:
            row["why"] = misplaced(at, now, known)
    return rows


def _is_excluded(client: Client, name: TableName) -> bool:
    return decide(client, name, ChangeKind.TABLE).is_excluded
