"""This operator applies the transactions in the queues of apply processes at their targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.operators.base import DdlReplSparkOperator
from airflow_ddlrepl.ports.work import Runner


class ApplyOperator(DdlReplSparkOperator):
    """Apply the transactions in the queues of apply processes, each once.

    XCom: transactions, changes (by kind), errors (transactions that failed now), waiting (in error queues, by target),
    discarded, positions (by target and what feeds its queue).

    :param target: the name of one target, as the channel file has it; empty: all. (templated)
    """

    stage: ClassVar[str] = "apply"
    app: ClassVar[str] = "apply"

    template_fields: Sequence[str] = (*DdlReplSparkOperator.template_fields, "target")

    def __init__(self, *, target: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target = target

    def arguments(self) -> list[str]:
        """Return the target as an argument of the app."""
        return [f"--target={self.target}"] if self.target else []

    def job(self, channel: Channel, run_id: str, runner: Runner) -> dict[str, Any]:
        """Apply in this process and return the summary."""
        from airflow_ddlrepl.spark.jobs import streams

        return streams.apply(channel, run_id, runner, target=self.target)
