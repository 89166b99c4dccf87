"""The tables of a channel at its targets are listed by trouble: state, reason, rows, last change, load and compare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_ddlrepl.flow.health.facts import Facts
from airflow_ddlrepl.flow.health.verdict import moment_text
from airflow_ddlrepl.flow.health.what_waits import what_waits
from airflow_ddlrepl.repository.repository import Repository

_TROUBLE = {"suspended": 0, "left out": 1, "pending": 2, "new": 2, "kept": 6}
LIVE = 7


def table_rows(facts: Facts, repository: Repository) -> list[dict[str, Any]]:
    """Return the tables of all targets, those in trouble first, then by name. Moments are JSON; None: not known.

    waiting_rows, waiting_bytes: at most so much was captured that the target's table does not have.
    """
    changes = repository.table_changes(facts.channel)
    loads = {(one.target, one.table_id): one for one in repository.last_loads(facts.channel)}
    compared = repository.compared_tables(facts.channel)
    targets = facts.content.get("targets", {})
    now = {name: {**known, "position": facts.position(name)} for name, known in targets.items()}
    waiting = what_waits(repository, facts.channel, now)
    found: list[tuple[int, str, dict[str, Any]]] = []
    for target, known in targets.items():
        for table in known["tables"]:
            number = table["table_id"]
            load, change = loads.get((target, number)), changes.get(number)
            rows, size = waiting.get((target, number), (None, None))
            row = {
                **table,
                "target": target,
                "changed": moment_text(change[0]) if change else None,
                "changes": change[1] if change else 0,
                "waiting_rows": rows,
                "waiting_bytes": size,
                "loaded": moment_text(load.finished) if load else None,
                "loaded_rows": load.rows if load else None,
                **_comparison(compared.get((target, number))),
            }
            found.append((trouble(table), table["table"], row))
    return [row for _, _, row in sorted(found, key=lambda one: one[:2])]


def trouble(table: Mapping[str, Any]) -> int:
    """Return how much a table needs a person: a smaller number is more."""
    if (known := _TROUBLE.get(table["state"])) is not None:
        return known
    if table["discarded"]:
        return 3
    return 4 if table["may_differ"] else 5 if table["left_at_source"] else LIVE


def _comparison(found: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return when a table was last compared, how much differed, and what, in words; nothing of it: it never was.

    undecided: why nobody can tell which rows differ; empty: what differs is known.
    """
    if found is None:
        nothing = dict.fromkeys(("compared", "compared_at", "differences", "source_rows"))
        return {**nothing, "undecided": "", "found": []}
    return {
        "compared": moment_text(found["compared"]),
        "compared_at": found["position"],
        "differences": found["differences"],
        "undecided": found.get("undecided", ""),
        "source_rows": found["rows"],
        "found": found.get("found", []),
    }
