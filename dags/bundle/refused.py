"""Raise an import error with the reasons why channel files can't be used.

It holds no DAG; Airflow reads it because of ChannelDagBundle.
"""

from airflow_ddlrepl.dags.build import check_channel_dags
from airflow_ddlrepl.hooks.settings import channel_files

check_channel_dags(channel_files())
