"""A channel file becomes DAGs: the replication itself, and what is started by hand."""

from airflow_ddlrepl.channel_dags.build import build_channel_dags, check_channel_dags, dags_and_refusals

__all__ = ["build_channel_dags", "check_channel_dags", "dags_and_refusals"]
