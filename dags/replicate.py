"""One DAG per channel file that `[ddlrepl] channels` names (ChannelDagBundle reads this file)."""

from airflow_ddlrepl.channel_dags import dags_of
from airflow_ddlrepl.hooks.settings import channel_files

# Airflow's DAG processor finds a DAG where it stands in a module's globals.
globals().update(dags_of(channel_files()))
