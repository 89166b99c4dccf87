"""A condition in the channel file may limit which rows of a table a schema change's refresh replaces (`restrict`)."""

from __future__ import annotations

from dataclasses import replace

from airflow_ddlrepl.adapt.plan_model import Step
from airflow_ddlrepl.ddl.sql.statement import Evidence
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.notation.condition.parser import condition


def limited(steps: tuple[Step, ...], limit: str, before: Table, new: Table, evidence: Evidence) -> tuple[Step, ...]:
    """Return the steps with a refresh of some rows only, in the place of one of the whole table.

    limit: which rows, as a condition over the source's columns; empty: all. before, new: the source's table.
    Raises Unsupported ADP-177 where the change gives columns of the condition other values: rows would be lost.
    """
    if not limit or not any(step.is_reload for step in steps):
        return steps
    columns, known = ({c.name: (c.id, c.type, c.collation) for c in table.columns} for table in (new, before))
    computed = dict(evidence.conversions)
    if changed := [n for n in condition(limit).names() if columns.get(n) != known.get(n) or n in computed]:
        why = f"the change gives {', '.join(changed)} other values, by which `restrict` chooses the rows of a refresh"
        raise beyond_limit(new, why)
    return tuple(replace(s, rows=limit, why=f"{s.why}; rows where {limit}") if s.is_reload else s for s in steps)


def beyond_limit(table: Table, why: str) -> Unsupported:
    """Return the error for a change whose refresh of some rows would lose others, or leave them as they can't stay."""
    return Unsupported(
        why,
        code="ADP-177",
        table=table.name,
        hint="change the condition in `restrict`, or take it away; `ddlrepl refresh --table` with this table loads all"
        " of its rows when no condition is for a refresh by hand",
    )
