"""The policy on_preserve_alter_table_fail decides what happens when the target has refused an ALTER."""

from __future__ import annotations

from dataclasses import replace

from airflow_ddlrepl.adapt.plan.responses import LOOK
from airflow_ddlrepl.adapt.plan.sql_steps import Rendering
from airflow_ddlrepl.adapt.plan.verdicts import Case
from airflow_ddlrepl.adapt.plan_model import Omission, Step, StepKind
from airflow_ddlrepl.config.sections.policies import OnPreserveAlterTableFail
from airflow_ddlrepl.ddl.tables.create_table import CreateTable
from airflow_ddlrepl.ddl.tables.drop_table import DropTable
from airflow_ddlrepl.ddl.tables.rename_table import RenameTable
from airflow_ddlrepl.model.names import TableName, shortened
from airflow_ddlrepl.model.table import Table

POLICY = "on_preserve_alter_table_fail"
MEND = "remove what is in the way at the target and run again, or refresh this table: ddlrepl refresh --table"


def answer_refusal(case: Case, waits: bool) -> tuple[Step, ...]:
    """Return the step that answers a refused ALTER; none when the rows move into a new table (`rendered`).

    waits: a refresh brings the new shape anyway, and of a partitioned table and its partitions the ALTER, too. These,
    whose columns go together, are loaded again as a whole. Refused again: what neither a refresh nor a new table would
    mend, or where no row is against the ALTER.
    """
    refusal, policy = case.facts.refusal, _answered(case)
    if refusal is None or (waits and case.is_in_tree and refusal.by_rows):
        return ()
    policy_text = f"{POLICY}={policy}"
    if policy is OnPreserveAlterTableFail.FAIL_INTEG_JOB:
        return (Step(StepKind.CONTROL, refusal.why, policy=policy_text, hint=LOOK),)
    if policy is OnPreserveAlterTableFail.WARNING:
        left = "the target's table is not changed, and its rows may differ from the source"
        return (Step(StepKind.WARN, f"{refusal.why}: {left}", policy=policy_text, omits=Omission.ROWS),)
    if not waits:
        if policy is OnPreserveAlterTableFail.CREATE_AS_SELECT and not case.is_in_tree:
            return ()
        if refusal.by_rows:
            return (Step(StepKind.REFRESH, refusal.why, policy=policy_text),)
    hint = f"everything before the change is applied; {MEND}"
    return (Step(StepKind.REFUSE, refusal.why, policy=policy_text, code="ADP-130", hint=hint),)


def _answered(case: Case) -> OnPreserveAlterTableFail | None:
    """Return the policy for an ALTER that the target refused; None: it did not refuse one."""
    return case.policy.on_preserve_alter_table_fail if case.facts.refusal is not None else None


def is_left(case: Case) -> bool:
    """Does the target's table stay as it is, because the target refused the ALTER and the policy is WARNING?"""
    return _answered(case) is OnPreserveAlterTableFail.WARNING


def rendered(rendering: Rendering) -> tuple[tuple[Step, ...], Table]:
    """Return the steps that change the target's table, and the shape that it has after them."""
    if is_left(rendering.case) or (rendering.case.facts.refusal is not None and rendering.case.is_in_tree):
        return (), rendering.present
    if _answered(rendering.case) is OnPreserveAlterTableFail.CREATE_AS_SELECT:
        return _copied(rendering)
    return rendering.steps()


def _copied(rendering: Rendering) -> tuple[tuple[Step, ...], Table]:
    """Return the steps that move the rows into a new table, let it replace the old one and alter it; its shape then."""
    render, present, refusal = rendering.render, rendering.present, rendering.case.facts.refusal
    assert refusal is not None
    aside = TableName(present.name.schema, f"{shortened(present.name.name)}_{present.id}")
    bare = present.without_keys().with_(name=aside)
    sql = (
        *render.sql(CreateTable(bare), None),
        *render.rows_into(aside, present),
        *render.sql(DropTable(present), present),
        *render.sql(RenameTable(aside, present.name), bare),
    )
    policy_text = f"{POLICY}={OnPreserveAlterTableFail.CREATE_AS_SELECT}"
    moved = Step(StepKind.SQL, f"{refusal.why}: the rows move into a new table", sql, policy=policy_text, replaces=True)
    steps, shape = replace(rendering, present=present.without_keys(), known=None).steps()
    return (*(s for s in steps if s.shared), moved, *(s for s in steps if not s.shared)), shape
