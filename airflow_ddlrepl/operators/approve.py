"""This operator asks a person for an approval, where there is something to decide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowSkipException


class ApproveWhenOperator(ApprovalOperator):
    """Ask for an approval when there is something to decide; otherwise the task is skipped, with all after it.

    :param wanted: a number or text; empty, 0 or false: there is nothing to decide. (templated)

    All parameters of ApprovalOperator hold.
    """

    template_fields: Sequence[str] = (*ApprovalOperator.template_fields, "wanted")

    def __init__(self, *, wanted: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.wanted = wanted

    def execute(self, context: Context) -> Any:
        """Wait for the answer, or skip the task when there is nothing to decide."""
        if str(self.wanted).strip().lower() in ("", "0", "false", "none"):
            raise AirflowSkipException("there is nothing to decide")
        return super().execute(context)
