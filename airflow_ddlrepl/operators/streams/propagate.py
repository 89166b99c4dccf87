"""This operator passes messages of a queue of Streams on to another queue, by a propagation's rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.operators.base import DdlReplSparkOperator
from airflow_ddlrepl.ports.work import Runner


class PropagateOperator(DdlReplSparkOperator):
    """Pass on what is in the queues that propagations read, exactly once.

    XCom: rows (by propagation), segments, positions (by propagation and what feeds its queue), discarded (by table and
    reason).

    :param propagation: the name of one propagation, as the channel file has it; empty: all. (templated)
    """

    stage: ClassVar[str] = "propagate"
    app: ClassVar[str] = "propagate"

    template_fields: Sequence[str] = (*DdlReplSparkOperator.template_fields, "propagation")

    def __init__(self, *, propagation: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.propagation = propagation

    def arguments(self) -> list[str]:
        """Return the propagation as an argument of the app."""
        return [f"--propagation={self.propagation}"] if self.propagation else []

    def job(self, channel: Channel, run_id: str, runner: Runner) -> dict[str, Any]:
        """Pass messages on in this process and return the summary."""
        from airflow_ddlrepl.spark.jobs import streams

        return streams.propagate(channel, run_id, runner, propagation=self.propagation)
