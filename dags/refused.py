"""What is wrong with channel files, as an import error; holds no DAG (Airflow reads it because of ChannelDagBundle)."""

from airflow_ddlrepl.channel_dags import dags_and_refusals
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.hooks.settings import channel_files

_, refused = dags_and_refusals(channel_files())
if refused:
    told = "\n".join(map(str, refused))
    raise ConfigError(f"{len(refused)} channel files can't be used\n{told}", code="CFG-404")
