"""Build Airflow DAGs from channel files: the replication itself, and what a person starts by hand."""

from airflow_ddlrepl.channel_dags.build import build_channel_dags, check_channel_dags, dags_and_refusals

__all__ = ["build_channel_dags", "check_channel_dags", "dags_and_refusals"]
