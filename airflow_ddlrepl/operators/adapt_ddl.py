"""Brings the targets' tables to the shape that the captured schema changes ask for."""

from __future__ import annotations

from typing import ClassVar

from airflow_ddlrepl.operators.base import DdlReplSparkOperator
from airflow_ddlrepl.operators.links import ExecutedSqlLink


class AdaptDDLOperator(DdlReplSparkOperator):
    """Brings the targets' tables to the shape that the captured schema changes ask for.

    XCom: changes (by kind), statements, refreshes (tables that wait for one, and why), warnings, rows, executed (the
    statements: target, table, at, sql; the first 200).
    """

    stage: ClassVar[str] = "adapt"
    app: ClassVar[str] = "adapt_ddl"
    operator_extra_links = (*DdlReplSparkOperator.operator_extra_links, ExecutedSqlLink())
