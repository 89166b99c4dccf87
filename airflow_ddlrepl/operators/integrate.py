"""Merges the captured rows into the targets, exactly once."""

from __future__ import annotations

from typing import ClassVar

from airflow_ddlrepl.operators.base import DdlReplSparkOperator


class IntegrateOperator(DdlReplSparkOperator):
    """Merges the captured rows into the targets, exactly once.

    XCom: rows (inserted, updated, deleted), positions (by target).
    """

    stage: ClassVar[str] = "integrate"
    app: ClassVar[str] = "integrate"
