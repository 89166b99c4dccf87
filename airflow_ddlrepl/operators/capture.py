"""This operator reads the source's log, from the channel's position up to now, into the trail."""

from __future__ import annotations

from airflow_ddlrepl.flow.stages import CAPTURE
from airflow_ddlrepl.operators.base import DdlReplSparkOperator


class CaptureOperator(DdlReplSparkOperator):
    """Read the source's log, from the channel's position up to now, into the trail.

    XCom: low, high (positions), rows, transactions, segments, ddl (statements by kind), revisions, left_out (tables
    whose rows the log does not bring, and why).
    """

    runs = CAPTURE
