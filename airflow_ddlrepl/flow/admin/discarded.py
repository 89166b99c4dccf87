"""The rows that targets discard are listed for people, who correct them at the source."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from airflow_ddlrepl.engines.abilities.discarded_rows import DiscardsRows
from airflow_ddlrepl.engines.ability import find
from airflow_ddlrepl.flow.run.context import RunContext
from airflow_ddlrepl.flow.targets.readiness import ready_targets

MOST = 1000
"""So many rows of each target are listed, the newest."""
CODE = "INT-134"
"""The code of a discarded row among the errors of a channel."""

LOST = "INT-153"
"""The code of a change that is discarded because it lost a conflict."""
CORRECT = "correct it at the source: the next cycle brings it, or removes it here when it is deleted"
BY_HAND = "the target's row stays: write the wanted values at either end; the row's next change takes this off the list"


def discarded_counts(run: RunContext, target: str) -> Mapping[int, int]:
    """Return how many rows of each table a target discards, by the table's id."""
    place = find(run.target(target), DiscardsRows)
    return place.discarded_rows.counts() if place is not None else {}


def conflict_counts(run: RunContext, target: str) -> Mapping[int, Mapping[str, int]]:
    """Return how many changes found another row at a target, by the table's id and what became of them."""
    place = find(run.target(target), DiscardsRows)
    return place.discarded_rows.conflicts() if place is not None else {}


def discarded_rows(run: RunContext) -> list[dict[str, Any]]:
    """Return the newest discarded rows of every target, as the list of errors has them."""
    found: list[dict[str, Any]] = []
    for target in ready_targets(run):
        place = find(run.target(target.name), DiscardsRows)
        if place is None:
            continue
        names = {i: str(one.name) for i, one in run.target(target.name).state().table_states.items()}
        for row in place.discarded_rows.newest(MOST):
            lost = row.conflict is not None
            known = {"id": "", "stage": f"target {target.name}", "code": LOST if lost else CODE, "at": str(row.at)}
            values = json.dumps(dict(row.values), ensure_ascii=False)
            found.append(
                {
                    **known,
                    "created": row.since.isoformat(timespec="seconds") if row.since else "",
                    "table": names.get(row.table_id, ""),
                    "message": f"the {'change' if lost else 'row'} is discarded: {row.reason}: {values}",
                    "hint": BY_HAND if lost else CORRECT,
                }
            )
    return found
