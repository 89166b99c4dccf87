"""Loads the tables that wait for it anew, while capture may go on."""

from __future__ import annotations

from typing import ClassVar

from airflow_ddlrepl.operators.base import DdlReplSparkOperator


class RefreshOperator(DdlReplSparkOperator):
    """Loads the tables that wait for it anew, while capture may go on.

    XCom: tables (rows by table), reasons.
    """

    stage: ClassVar[str] = "refresh"
    app: ClassVar[str] = "refresh"
