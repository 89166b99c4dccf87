"""Airflow loads this plugin from this package: it adds the pages on replication, a timetable, and a preload.

The pages are below /ddlrepl/, and in Airflow's menu under Replication. Every Airflow process loads plugins, so little
is imported here, except in those that tasks are forked from (`[ddlrepl] preload`).
"""

from __future__ import annotations

from typing import Any, ClassVar

from airflow.plugins_manager import AirflowPlugin

from airflow_ddlrepl.hooks.settings import option
from airflow_ddlrepl.plugin.lazy_app import LazyApp
from airflow_ddlrepl.preload import preload_where_tasks_fork
from airflow_ddlrepl.timetables import BackfillTimetable

ICONS = {"icon": "ddlrepl/static/icon.svg", "icon_dark_mode": "ddlrepl/static/icon-dark.svg"}


class DdlReplPlugin(AirflowPlugin):
    """This class is the package's entry point `airflow.plugins`."""

    name = "ddlrepl"
    fastapi_apps: ClassVar[list[Any]] = [{"app": LazyApp(), "url_prefix": "/ddlrepl", "name": "ddlrepl"}]
    # Without a leading slash, so that the addresses are right behind a reverse proxy that adds a path.
    external_views: ClassVar[list[Any]] = [
        {
            "name": "Replication",
            "href": "ddlrepl/",
            "destination": "nav",
            "url_route": "replication",
            "nav_top_level": True,
            **ICONS,
        },
        {
            "name": "Replication",
            "href": "ddlrepl/dags/{DAG_ID}",
            "destination": "dag",
            "url_route": "ddlrepl",
            **ICONS,
        },
    ]
    timetables: ClassVar[list[Any]] = [BackfillTimetable]

    @classmethod
    def on_load(cls, *args: Any, **kwargs: Any) -> None:
        """Preload our modules where tasks are forked from this process.

        Airflow calls it once in each process that loads plugins; in the scheduler before it forks anything.
        """
        if option("preload").lower() != "false":
            preload_where_tasks_fork()
