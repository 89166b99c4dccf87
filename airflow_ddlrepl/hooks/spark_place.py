"""Decide where a task runs its Spark work: at an Airflow connection, else where environment or channel file say."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from typing import Any

from airflow.providers.apache.spark.hooks.spark_connect import SparkConnectHook

from airflow_ddlrepl import java
from airflow_ddlrepl.errors import ConfigError
from airflow_ddlrepl.hooks.connections import find_connection
from airflow_ddlrepl.spark.session.installation import inspect_installation, spark_home
from airflow_ddlrepl.spark.session.settings import ALWAYS, CONNECT, SparkSettings, is_local, local_properties

DRIVER_PYTHON = "spark.pyspark.driver.python"
OWN_ID = "ddlrepl_own_spark"
SUBMIT_EXTRAS = ("spark-binary", "queue", "keytab", "principal")


@dataclass(frozen=True)
class SparkPlace:
    """A Spark place is where the Spark work of a task runs.

    conn_id: for SparkSubmitHook. master: as spark-submit takes it. binary: None leaves it to the connection.
    remote: sc:// URL of a Spark Connect server, with its token: then no spark-submit is needed.
    submit_extras: settings of the connection that only spark-submit honours.
    """

    conn_id: str
    master: str
    binary: str | None = None
    remote: str = field(default="", repr=False)
    submit_extras: tuple[str, ...] = ()

    @property
    def is_local(self) -> bool:
        """Return whether Spark runs on this machine."""
        return is_local(self.master)

    def properties(self) -> dict[str, str]:
        """Return our Spark properties for the place; a local Spark starts quickly, logs little and runs this Python.

        The driver, which runs on this machine, does so in any case: `spark.pyspark.python` is the workers' then.
        """
        return {**ALWAYS, **local_properties()} if self.is_local else {DRIVER_PYTHON: sys.executable}

    def environment(self) -> dict[str, str]:
        """Return variables for spark-submit; empty for clusters, where they would not arrive."""
        if not self.is_local:
            return {}
        return {"JAVA_HOME": java.home(), "SPARK_HOME": str(spark_home()), "SPARK_LOCAL_IP": "127.0.0.1"}


def spark_place(conn_id: str | None, channel: SparkSettings) -> SparkPlace:
    """Return the place of a connection; without one (None, or no such connection) where environment or channel say.

    Raises ConfigError CFG-402 when the installed Spark is a mix of two versions.
    """
    connection = find_connection(conn_id) if conn_id else None
    if connection is None or conn_id is None:
        return _without_connection(channel)
    host = connection.host or "local[*]"
    if connection.conn_type in ("spark_connect", "sc") or host.startswith(CONNECT):
        return SparkPlace(conn_id, CONNECT, remote=SparkConnectHook(conn_id).get_connection_url())
    plain = connection.conn_type == "spark" and ("://" in host or not connection.port)
    master = host if plain else f"{connection.conn_type}://{host}:{connection.port}"
    extra = dict(connection.extra_dejson)
    binary = None if extra.get("spark-binary") else _own_binary()
    cluster = ("deploy-mode",) if extra.get("deploy-mode") == "cluster" else ()
    extras = (*(name for name in SUBMIT_EXTRAS if extra.get(name)), *cluster)
    return SparkPlace(conn_id, master, binary, submit_extras=extras)


def _without_connection(channel: SparkSettings) -> SparkPlace:
    """Return the place that the channel sets, with a connection for SparkSubmitHook that only this process knows."""
    if channel.remote:
        return SparkPlace("", CONNECT, remote=channel.remote)
    master = channel.effective_master
    os.environ[f"AIRFLOW_CONN_{OWN_ID.upper()}"] = json.dumps({"conn_type": "spark", "host": master})
    return SparkPlace(OWN_ID, master, _own_binary())


def _own_binary() -> str:
    """Return the full path of the installed pyspark's spark-submit, as the PATH may contain another Spark."""
    installed = inspect_installation()
    if installed.problem:
        raise ConfigError(installed.problem, code="CFG-402", hint=installed.fix)
    return str(installed.home / "bin" / "spark-submit") if installed.home else "spark-submit"


def merged(ours: dict[str, str], users: dict[Any, Any] | None) -> dict[Any, Any]:
    """Return our properties, overridden by the user's."""
    return {**ours, **(users or {})}
