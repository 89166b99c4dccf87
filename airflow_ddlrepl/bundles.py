"""This module gives Airflow the DAGs of this package: one line of configuration instead of files in the DAGs folder."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from airflow.dag_processing.bundles.base import BaseDagBundle


class ChannelDagBundle(BaseDagBundle):
    """This DAG bundle has one DAG per channel file that `[ddlrepl] channels` names.

        [dag_processor]
        dag_bundle_config_list = [{"name": "dags-folder",
            "classpath": "airflow.dag_processing.bundles.local.LocalDagBundle", "kwargs": {}},
          {"name": "ddlrepl", "classpath": "airflow_ddlrepl.bundles.ChannelDagBundle", "kwargs": {}}]

    The list replaces Airflow's default, so name the DAGs folder too when you use it.
    """

    supports_versioning = False

    def get_current_version(self) -> None:
        """Return None: the bundle's version is the package's, and there is no other to go back to."""
        return None

    def refresh(self) -> None:
        """Do nothing: the files change with the installed package."""

    @property
    def path(self) -> Path:
        """Return the folder of the DAG files in the installed package."""
        return Path(str(files("airflow_ddlrepl.dags.bundle") / "channels.py")).parent
