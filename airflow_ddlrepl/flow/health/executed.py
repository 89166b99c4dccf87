"""The SQL that a run has executed at the targets for schema changes, stage by stage, also of a run that failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow_ddlrepl.flow.health.verdict import moment_text
from airflow_ddlrepl.repository.repository import Repository
from airflow_ddlrepl.repository.stored.rows import RunRow

MOST_STAGES = 100


def executed_sql(repository: Repository, channel: str, run_id: str) -> dict[str, Any]:
    """Return what each stage of a run has executed, by target and table in the order of the log.

    is_known: does the repository know the run? total: of all statements of a stage; those that are listed may be fewer.
    """
    rows = list(reversed(repository.runs(channel, run_id, MOST_STAGES)))
    stages = [row for row in rows if (row.result or {}).get("executed")]
    ids = {str(one.name): one.table_id for one in repository.tables(channel)} if stages else {}
    return {
        "channel": channel,
        "run": run_id,
        "is_known": bool(rows),
        "stages": [_stage(one, ids) for one in stages],
    }


def _stage(row: RunRow, ids: Mapping[str, int]) -> dict[str, Any]:
    result = row.result or {}
    statements: Sequence[Mapping[str, Any]] = result["executed"]
    places = dict.fromkeys((one["target"], one["table"]) for one in statements)
    return {
        "stage": row.stage,
        "status": row.status.value,
        "began": moment_text(row.started),
        "ended": moment_text(row.ended),
        "total": result.get("executed_total", len(statements)),
        "listed": len(statements),
        "tables": [
            {
                "target": target,
                "table": table,
                "table_id": ids.get(table),
                "statements": [
                    {"at": one["at"], "sql": one["sql"]}
                    for one in statements
                    if (one["target"], one["table"]) == (target, table)
                ],
            }
            for target, table in places
        ],
    }
