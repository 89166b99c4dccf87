"""Define the DAGs of each channel file that `[ddlrepl] channels` names (ChannelDagBundle reads this file)."""

from airflow_ddlrepl.dags.build import dags_and_refusals
from airflow_ddlrepl.hooks.settings import channel_files

# Airflow's DAG processor finds a DAG where it stands in a module's globals. It takes none from a file that raises, so
# refused.py raises what is wrong with a channel file.
globals().update(dags_and_refusals(channel_files())[0])
