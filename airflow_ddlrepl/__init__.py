"""Replicates databases together with their schema changes, on Airflow and Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from airflow.sdk import DAG

__version__ = "0.1.0"
__all__ = ["__version__", "build_channel_dags"]


def build_channel_dags(path: str | Path, **defaults: Any) -> dict[str, DAG]:
    """The DAGs of the channel file (or of every channel file in the folder) at `path`, by DAG id.

    A file in the DAGs folder needs two lines:

        from airflow_ddlrepl import build_channel_dags
        globals().update(build_channel_dags("/etc/ddlrepl/channels"))

    defaults: default arguments of every task, e.g. retries=3. Airflow is imported here, not by
    `import airflow_ddlrepl`, so that Spark executors need no Airflow.
    """
    from airflow_ddlrepl.channel_dags import build_channel_dags as build

    return build(path, **defaults)
