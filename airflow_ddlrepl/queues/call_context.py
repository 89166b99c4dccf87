"""`call_context` where functions of rules imported it before."""

from airflow_ddlrepl.streams.queue.call_context import call_context

__all__ = ["call_context"]
