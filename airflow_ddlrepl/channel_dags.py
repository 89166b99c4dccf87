"""The functions that build the DAGs of channel files, for whoever imports them from here; the DAGs are in `dags`."""

from airflow_ddlrepl.dags.build import build_channel_dags, check_channel_dags, dags_and_refusals

__all__ = ["build_channel_dags", "check_channel_dags", "dags_and_refusals"]
