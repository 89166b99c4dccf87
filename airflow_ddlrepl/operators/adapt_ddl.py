"""Brings the targets' tables to the shape that the captured schema changes ask for."""

from __future__ import annotations

from typing import ClassVar

from airflow_ddlrepl.operators.base import DdlReplSparkOperator


class AdaptDDLOperator(DdlReplSparkOperator):
    """Brings the targets' tables to the shape that the captured schema changes ask for.

    XCom: changes (by kind), statements, refreshes (tables that wait for one, and why), warnings, rows.
    """

    stage: ClassVar[str] = "adapt"
    app: ClassVar[str] = "adapt_ddl"
