"""`takes_batches` where functions of rules imported it before."""

from airflow_ddlrepl.streams.queue.functions import takes_batches

__all__ = ["takes_batches"]
