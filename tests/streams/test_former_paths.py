"""What users' functions import stays importable from where it was."""

from __future__ import annotations

from airflow_ddlrepl.queues.call_context import call_context
from airflow_ddlrepl.queues.functions import takes_batches
from airflow_ddlrepl.streams.queue import call_context as now_context
from airflow_ddlrepl.streams.queue import functions as now_functions


def test_both_paths_are_one_function() -> None:
    assert takes_batches is now_functions.takes_batches
    assert call_context is now_context.call_context
