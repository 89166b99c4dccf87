"""This operator fails with the reason why a channel file can't be used."""

from __future__ import annotations

from typing import Any

from airflow.sdk import BaseOperator, Context
from airflow.sdk.exceptions import AirflowFailException


class ReportUnusableOperator(BaseOperator):
    """Fail with the reason why a channel file can't be used.

    :param reason: the error of the file, with its line.
    """

    ui_color = "#f2d6d6"

    def __init__(self, *, reason: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.reason = reason

    def execute(self, context: Context) -> None:
        """Fail the task for good with the reason."""
        raise AirflowFailException(self.reason)
