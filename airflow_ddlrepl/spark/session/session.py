"""Start the process's one Spark session when it is first needed."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from airflow_ddlrepl import java
from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.spark.session.class_archive import launcher_options
from airflow_ddlrepl.spark.session.connect_server import connect
from airflow_ddlrepl.spark.session.daemon_ahead import VARIABLE, start_daemon
from airflow_ddlrepl.spark.session.python_archives import prefer_installed
from airflow_ddlrepl.spark.session.secret_file import properties_file
from airflow_ddlrepl.spark.session.settings import (
    DAEMON,
    PROPERTIES_FILE,
    PYTHON,
    WORKER_DAEMON,
    SparkSettings,
    has_users_options,
    is_local,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LAUNCHER = "SPARK_LAUNCHER_OPTS"
"""Variable: options for the Java that bin/spark-class asks for the command to run."""


def session(app_name: str, settings: SparkSettings | None = None) -> SparkSession:
    """Return the session that does the work: the one that spark-submit prepared, Spark Connect, or one started here.

    Raises ConfigError CFG-401 when a JVM must be started here and no Java 17+ is found, Unreachable CON-130 or
    DdlReplError SPK-103 when a Spark Connect server does not answer or is another Spark, DdlReplError SPK-106 when
    it is one and a target is written by Java in the driver's session.
    """
    settings = settings or SparkSettings.from_environment()
    if settings.remote and settings.of_engines():
        raise DdlReplError(
            "a target is a lake, and Spark Connect gives no access to the Java of its session, which writes there",
            code="SPK-106",
            hint="name a Spark master instead: `spark.master` of the channel file, DDLREPL_SPARK_MASTER, or a"
            " connection of type spark",
        )
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return _submitted(app_name, settings)
    if is_local(settings.remote):
        os.environ["JAVA_HOME"] = java.home()
        _stay_local(settings.remote)
        from pyspark.sql import SparkSession

        return SparkSession.builder.remote(settings.remote).getOrCreate()
    return connect(settings.remote) if settings.remote else _started(app_name, settings)


def is_classic(spark: SparkSession) -> bool:
    """Return whether the session is in a JVM of its process; else it is one of a Spark Connect server."""
    return ".connect." not in type(spark).__module__


def session_parallelism(spark: SparkSession) -> int:
    """Return how many tasks the session runs at once."""
    if not is_classic(spark):
        return _served(spark)
    return int(spark.sparkContext.defaultParallelism)


@lru_cache(maxsize=1)
def _served(spark: SparkSession) -> int:
    if configured := spark.conf.get("spark.default.parallelism", None):
        return int(configured)
    row = spark.range(1 << 16).selectExpr("spark_partition_id() AS p").agg({"p": "max"}).first()
    return int(row[0]) + 1 if row else 1


def _submitted(app_name: str, settings: SparkSettings) -> SparkSession:
    """Return the session under spark-submit, which has read the user's options; ours only fill the gaps."""
    prefer_installed()
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    SparkContext._ensure_initialized()
    submitted = SparkConf()
    master = str(submitted.get("spark.master", settings.effective_master))
    _stay_local(master)
    ours = SparkSettings(master, conf=settings.conf).properties()
    builder = SparkSession.builder.master(master)
    if not submitted.contains("spark.app.name"):
        builder = builder.appName(app_name)
    for name, value in ours.items():
        if not submitted.contains(name):
            builder = builder.config(name, value)
    with _starting(master):
        return builder.getOrCreate()


def _started(app_name: str, settings: SparkSettings) -> SparkSession:
    """Start a session here; our options reach the JVM in a file that only we can read, not on its command line."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    ours = {"spark.master": settings.effective_master, "spark.app.name": app_name, **settings.properties()}
    os.environ["JAVA_HOME"] = java.home()  # after the properties, which would ask it anew
    # SPARK_HOME of another Spark would mix its jars with our Python files.
    os.environ.pop("SPARK_HOME", None)
    _stay_local(settings.effective_master)
    if python := settings.conf.get(PYTHON):
        os.environ["PYSPARK_PYTHON"] = python
    _ask_numpy_alone()
    builder = SparkSession.builder
    for name, value in ours.items():
        builder = builder.config(name, value)
    with _starting(settings.effective_master):
        users_file = os.environ.get(PROPERTIES_FILE) or None
        with (
            _daemon_ahead(ours),
            properties_file(ours, users_file) as path,
            _submit_arguments(f"--properties-file {shlex.quote(str(path))}"),
            _quick_launcher(),
        ):
            SparkContext._ensure_initialized()
        return builder.getOrCreate()


def _ask_numpy_alone() -> None:
    """Let pyspark find out whether a value for Java is one of numpy's without a third of its start's imports.

    It asks its package of tests, which imports pandas and unittest, while Java waits: half a second. Where nobody has
    imported numpy nothing is a value of it.
    """
    from pyspark.sql.types import NumpyArrayConverter, NumpyScalarConverter

    def is_scalar(_: NumpyScalarConverter, value: object) -> bool:
        numpy = sys.modules.get("numpy")
        return numpy is not None and isinstance(value, numpy.generic)

    def is_array(_: NumpyArrayConverter, value: object) -> bool:
        numpy = sys.modules.get("numpy")
        return numpy is not None and isinstance(value, numpy.ndarray) and value.ndim == 1

    setattr(NumpyScalarConverter, "can_convert", is_scalar)  # noqa: B010
    setattr(NumpyArrayConverter, "can_convert", is_array)  # noqa: B010


@contextmanager
def _starting(master: str) -> Iterator[None]:
    """Turn a failure of py4j or pyspark to start, with its page of Java, into a DdlReplError."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = next((line for line in lines if re.match(r"(java|org)\.[\w.$]+: ", line)), lines[0] if lines else "")
        raise DdlReplError(
            f"Spark does not start at {master}: {redact(reason)}",
            code="SPK-104",
            hint="does the master answer, and is there memory for one more app? `ddlrepl doctor` checks Java and Spark",
            retryable=True,
        ) from None


@contextmanager
def _submit_arguments(ours: str) -> Iterator[None]:
    """Put our arguments before the user's in those that pyspark passes to the spark-submit that it starts."""
    before = os.environ.get("PYSPARK_SUBMIT_ARGS")
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"{ours} {before or 'pyspark-shell'}"
    try:
        yield
    finally:
        os.environ.pop("PYSPARK_SUBMIT_ARGS")
        if before is not None:
            os.environ["PYSPARK_SUBMIT_ARGS"] = before


@contextmanager
def _quick_launcher() -> Iterator[None]:
    """Let the Java that only says how Spark's is started begin quickly; a user's options for it stay."""
    ours = {} if LAUNCHER in os.environ else {LAUNCHER: launcher_options(os.environ["JAVA_HOME"])}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)


@contextmanager
def _daemon_ahead(ours: Mapping[str, str]) -> Iterator[None]:
    """Start the daemon of Python workers beside Java, and tell Java's environment of it.

    There is none where Java runs already, or a user has set an environment of the workers, who get it at their start.
    """
    from pyspark import SparkContext

    is_set = any(name.startswith(("spark.executorEnv.", "spark.executor.cores")) for name in ours)
    if SparkContext._gateway or is_set or has_users_options() or ours.get(DAEMON) != WORKER_DAEMON:
        yield
        return
    os.environ[VARIABLE] = start_daemon(WORKER_DAEMON)
    try:
        yield
    finally:
        os.environ.pop(VARIABLE)


def _stay_local(master: str) -> None:
    """Set this Python and a local address for a Spark on this machine.

    Otherwise it would start the first python3 of the PATH, and ask the network for the host's name.
    """
    if is_local(master):
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
