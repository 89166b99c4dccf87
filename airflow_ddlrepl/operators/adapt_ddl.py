"""This operator changes the targets' tables as the source's tables have changed."""

from __future__ import annotations

from airflow_ddlrepl.flow.stages import ADAPT
from airflow_ddlrepl.operators.base import DdlReplSparkOperator
from airflow_ddlrepl.operators.links import ExecutedSqlLink


class AdaptDDLOperator(DdlReplSparkOperator):
    """Change the targets' tables as the source's tables have changed, by the captured schema changes.

    XCom: changes (by kind), statements, refreshes (tables that wait for one, and why), warnings, rows, executed (the
    statements: target, table, at, sql; the first 200).
    """

    runs = ADAPT
    operator_extra_links = (*DdlReplSparkOperator.operator_extra_links, ExecutedSqlLink())
