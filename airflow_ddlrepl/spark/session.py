"""One Spark session per process, started when it is first needed."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from airflow_ddlrepl import java
from airflow_ddlrepl.spark.settings import SparkSettings, is_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def session(app_name: str, settings: SparkSettings | None = None) -> SparkSession:
    """The session that does the work: Spark Connect, the one that spark-submit prepared, or a local one.

    Raises ConfigError CFG-401 when a JVM must be started here and no Java 17+ is found.
    """
    settings = settings or SparkSettings.from_environment()
    if settings.remote:
        return _connected(settings)
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return _submitted(app_name, settings)
    return _started(app_name, settings)


def _connected(settings: SparkSettings) -> SparkSession:
    from pyspark.sql import SparkSession

    if is_local(settings.remote):
        os.environ["JAVA_HOME"] = java.home()
        _stay_local(settings.remote)
    return SparkSession.builder.remote(settings.remote).getOrCreate()


def _submitted(app_name: str, settings: SparkSettings) -> SparkSession:
    """spark-submit has read the user's options; ours only fill the gaps."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    SparkContext._ensure_initialized()
    given = SparkConf()
    master = str(given.get("spark.master", settings.effective_master))
    _stay_local(master)
    ours = SparkSettings(master, conf=settings.conf).properties()
    builder = SparkSession.builder.master(master)
    if not given.contains("spark.app.name"):
        builder = builder.appName(app_name)
    for name, value in ours.items():
        if not given.contains(name):
            builder = builder.config(name, value)
    return builder.getOrCreate()


def _started(app_name: str, settings: SparkSettings) -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ["JAVA_HOME"] = java.home()
    # SPARK_HOME of another Spark would mix its jars with our Python files.
    os.environ.pop("SPARK_HOME", None)
    _stay_local(settings.effective_master)
    builder = SparkSession.builder.appName(app_name).master(settings.effective_master)
    for name, value in settings.properties().items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _stay_local(master: str) -> None:
    """On one machine Spark would else start the first python3 of the PATH, and ask the network for the host's name."""
    if is_local(master):
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
