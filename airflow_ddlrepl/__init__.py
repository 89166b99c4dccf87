"""Replicates databases together with their schema changes, on Airflow and Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_ddlrepl.visible import install

if TYPE_CHECKING:
    from pathlib import Path

    from airflow.sdk import DAG

__version__ = "0.1.0"
__all__ = ["__version__", "build_channel_dags", "check_channel_dags"]

install()


def build_channel_dags(path: str | Path, **defaults: Any) -> dict[str, DAG]:
    """Return the DAGs of the channel file (or of every channel file in the folder) at `path`, by DAG id.

    A file in the DAGs folder needs two lines:

        from airflow_ddlrepl import build_channel_dags
        globals().update(build_channel_dags("/etc/ddlrepl/channels"))

    A channel file that can't be used has one DAG, which says why; the others' DAGs are as ever.
    defaults: default arguments of every task, e.g. retries=3. Airflow is imported here, not by
    `import airflow_ddlrepl`, so that Spark executors need no Airflow.
    """
    from airflow_ddlrepl.dags import build

    dags: dict[str, DAG] = build.build_channel_dags(path, **defaults)
    return dags


def check_channel_dags(path: str | Path) -> None:
    """Raise what is wrong with the channel file (or with channel files in the folder) at `path`.

    In a file of its own in the DAGs folder this makes an import error of it:

        from airflow_ddlrepl import check_channel_dags
        check_channel_dags("/etc/ddlrepl/channels")
    """
    from airflow_ddlrepl.dags import build

    build.check_channel_dags(path)
