"""How much of what was captured waits for each table at each target is counted when a segment is captured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.repository.stored.rows import RefreshRow

FOLLOWS = frozenset(("live", "suspended", "pending", "new"))
"""A table in another state gets nothing of the log, so nothing waits for it."""

Amounts = dict[tuple[str, int], tuple[int, int]]


def what_waits(repository: Repository, channel: str, targets: Mapping[str, Mapping[str, Any]]) -> Amounts:
    """Return how many captured rows each table at each target lacks, and their bytes in the trail: at most so many.

    A table is not there when nobody knows. targets: as the status has them, at the positions where they are now.
    """
    counted = repository.counted_from(channel)
    if counted is None:
        return {}
    asked = _loads_asked_for(repository, channel)
    found: Amounts = {}
    for target, known in targets.items():
        if known["position"] is None:
            continue
        at, own = Position.parse(known["position"]), _own(target, known, asked)
        rows = repository.rows_since(channel, at, own)
        for table in known["tables"]:
            number = table["table_id"]
            if table["state"] in FOLLOWS and own.get(number, at) >= counted.of(number):
                found[target, number] = rows.get(number, (0, 0))
    return found


def forget_what_all_have(repository: Repository, channel: str, targets: Mapping[str, Mapping[str, Any]]) -> None:
    """Forget the counts of rows that each table has at each target; nothing while a target does not answer."""
    positions = [one["position"] for one in targets.values()]
    if not positions or None in positions:
        return
    asked = _loads_asked_for(repository, channel)
    own: dict[int, Position] = {}
    for target, known in targets.items():
        for number, at in _own(target, known, asked).items():
            own[number] = min(at, own.get(number, at))
    repository.forget_rows(channel, min(map(Position.parse, positions)), own)


def _own(target: str, known: Mapping[str, Any], requested: Mapping[tuple[str, int], Position]) -> dict[int, Position]:
    """Return the tables for which another position counts than the target's.

    One that is suspended has its own; for one that waits for a load nothing is applied since the load was asked for.
    """
    found: dict[int, Position] = {}
    for table in known["tables"]:
        number = table["table_id"]
        if table["state"] in ("pending", "new") and (target, number) in requested:
            found[number] = requested[target, number]
        elif table["state"] in FOLLOWS and table.get("lacks_from"):
            found[number] = Position.parse(table["lacks_from"])
    return found


def _loads_asked_for(repository: Repository, channel: str) -> dict[tuple[str, int], Position]:
    """Return from where on tables wait for a load, by target and table id: the oldest request counts."""
    pending: list[RefreshRow] = repository.refreshes(channel, state="pending")
    return {(one.target, one.table_id): one.requested_at for one in reversed(pending)}
