"""This operator applies the transactions in the queues of apply processes at their targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_ddlrepl.flow.stages import APPLY
from airflow_ddlrepl.operators.base import DdlReplSparkOperator


class ApplyOperator(DdlReplSparkOperator):
    """Apply the transactions in the queues of apply processes, each once.

    XCom: transactions, changes (by kind), errors (transactions that failed now), waiting (in error queues, by target),
    discarded, positions (by target and what feeds its queue).

    :param target: the name of one target, as the channel file has it; empty: all. (templated)
    """

    runs = APPLY

    template_fields: Sequence[str] = (*DdlReplSparkOperator.template_fields, "target")

    def __init__(self, *, target: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.target = target
