"""A kind of target may be unable to rename a column, or to change its type: the table is then created again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from airflow_ddlrepl.adapt.plan.verdicts import By, Case, Verdict
from airflow_ddlrepl.ddl.base.change import SchemaChange
from airflow_ddlrepl.ddl.columns.change_type import ChangeType
from airflow_ddlrepl.ddl.columns.rename_column import RenameColumn
from airflow_ddlrepl.model.target_columns import retains_rows
from airflow_ddlrepl.notation.refresh_options import Granularity


def judge_fixed(changes: Iterable[SchemaChange], case: Case, limit: str) -> Iterator[Verdict]:
    """Judge changes of the target's table that its kind of target has no ALTER for: a refresh replaces the table.

    limit: which rows a refresh replaces; empty: all. Refused (ADP-174) where rows of the present table have to stay.
    """
    fixed = [str(change) for change in changes if _is_fixed(change, case)]
    if not fixed:
        return
    why = f"the target can't alter a column so ({'; '.join(fixed)})"
    stays = retains_rows(case.held) or case.policy.refresh.granularity is Granularity.ROW or bool(limit)
    if stays or case.is_in_tree:
        yield Verdict(
            why=f"{why}, and rows of its table have to stay there" if stays else f"{why} in partitions",
            code="ADP-174",
            hint="drop the target's table and refresh it (ddlrepl refresh --table), or take it out of the channel",
        )
    else:
        yield Verdict(True, f"{why}: the table is created again", By.NONE)


def _is_fixed(change: SchemaChange, case: Case) -> bool:
    if isinstance(change, RenameColumn):
        return not case.facts.renames_columns
    return isinstance(change, ChangeType) and not case.facts.alters_types
