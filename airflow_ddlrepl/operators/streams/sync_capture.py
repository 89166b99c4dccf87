"""This operator brings what triggers at the source have captured into the queues of synchronous captures."""

from __future__ import annotations

from airflow_ddlrepl.flow.stages import SYNC_CAPTURE
from airflow_ddlrepl.operators.base import DdlReplSparkOperator


class SyncCaptureOperator(DdlReplSparkOperator):
    """Bring what synchronous captures have captured into their queues, exactly once; triggers follow the rules.

    XCom: rows (by client), transactions, segments, changes (at the source), missing and truncated (tables).
    """

    runs = SYNC_CAPTURE
