"""This operator passes messages of a queue of Streams on to another queue, by a propagation's rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_ddlrepl.flow.stages import PROPAGATE
from airflow_ddlrepl.operators.base import DdlReplSparkOperator


class PropagateOperator(DdlReplSparkOperator):
    """Pass on what is in the queues that propagations read, exactly once.

    XCom: rows (by propagation), segments, positions (by propagation and what feeds its queue), discarded (by table and
    reason).

    :param propagation: the name of one propagation, as the channel file has it; empty: all. (templated)
    """

    runs = PROPAGATE

    template_fields: Sequence[str] = (*DdlReplSparkOperator.template_fields, "propagation")

    def __init__(self, *, propagation: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.propagation = propagation
