"""This module has the Spark session that writes a lake's tables: one for the process, which serves several lakes.

Each lake is a catalog of its own in the session; that catalog has staged tables only. The session shares the run's
Spark and has settings of its own: what somebody has set there does not change what our statements mean.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from airflow_ddlrepl import java
from airflow_ddlrepl.config.sections.location import redact
from airflow_ddlrepl.engines.lake.connection.jars import OF_STORES, jars
from airflow_ddlrepl.engines.lake.connection.location import location_of
from airflow_ddlrepl.engines.lake.connection.quoting import quote
from airflow_ddlrepl.errors import DdlReplError
from airflow_ddlrepl.ports.work import offered_session

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
MASTER = "local[2]"
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.extraJavaOptions": java.LIGHT,
}
_MEANING = {
    "spark.sql.variable.substitute": "false",  # else a text `${env:HOME}` of the source would read our environment
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.caseSensitive": "true",  # else it takes columns "a" and "A" of a source for one
    "spark.sql.storeAssignmentPolicy": "ANSI",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.filterPushdown": "true",
    "spark.sql.sources.partitionOverwriteMode": "static",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.parquet.mergeSchema": "false",
}
"""Settings on which it depends what our statements mean and which rows they read."""


def session_properties(location: str) -> dict[str, str]:
    """Return what a session that writes to a lake is started with; the jars are fetched where they are missing.

    Raises ConfigError CFG-413 when they can't be, CFG-104 for a location that is none.
    """
    return {
        "spark.jars": ",".join(map(str, jars(_is_in_store(location)))),
        "spark.sql.extensions": EXTENSIONS,
        "spark.driver.memory": "1g",
    }


def _is_in_store(location: str) -> bool:
    return not location_of(location).files.is_read_by_spark


def lake_session(location: str) -> SparkSession:
    """Return our session, with the catalog of a lake: beside the run's own, one of this process, or one started here.

    Raises DdlReplError SPK-105 for a session that can't write to a lake, SPK-104 where Spark does not start.
    """
    from pyspark.sql import SparkSession

    spark = offered_session() or SparkSession.getActiveSession() or _started(location)
    if ".connect." in type(spark).__module__:
        raise _unfit("the session is one of Spark Connect, which gives no access to its Java")
    if EXTENSIONS not in (spark.conf.get("spark.sql.extensions", "") or ""):
        raise _unfit("the session has no Iceberg: spark.sql.extensions lacks its class")
    if _is_in_store(location) and _lacks_stores(spark):
        raise _unfit(f"it has no {OF_STORES[0].file}, which reads and writes object stores")
    ours = _beside(spark.sparkContext)
    _add_catalog(ours, location)
    return ours


def _lacks_stores(spark: SparkSession) -> bool:
    """Has the session no classes that reach object stores?"""
    return "JavaPackage" in type(spark._jvm.software.amazon.awssdk.services.s3.S3Client).__name__  # type: ignore[union-attr]


@lru_cache(maxsize=1)
def _beside(context: SparkContext) -> SparkSession:
    """Return the session with our settings that a running Spark gets."""
    from pyspark.sql import SparkSession

    ours = SparkSession(context).newSession()
    for name, value in _MEANING.items():
        if ours.conf.get(name) != value:  # Spark warns of some that are set, also to what they are
            ours.conf.set(name, value)
    return ours


def catalog_name(location: str) -> str:
    """Return the name that a lake's catalog has in the session."""
    return location_of(location).spark_catalog


def _add_catalog(spark: SparkSession, location: str) -> None:
    """Name the catalog in the session, before its first use."""
    place = location_of(location)
    name = f"spark.sql.catalog.{place.spark_catalog}"
    if spark.conf.get(name, "") == "":
        settings = {
            "": "org.apache.iceberg.spark.SparkCatalog",
            ".type": "jdbc",
            ".jdbc.schema-version": "V1",
            ".warehouse": place.warehouse,
            ".cache-enabled": "false",
            **{f".{key}": value for key, value in {**place.jdbc, **place.files.properties}.items()},
        }
        for key, value in settings.items():
            spark.conf.set(f"{name}{key}", value)
        # A statement loads it with these settings; a static call of Java's would look into the active session's.
        spark.sql(f"SHOW NAMESPACES IN {quote(place.spark_catalog)}").collect()


def _started(location: str) -> SparkSession:
    """Start a session in this process; `spark.jars` makes Iceberg's classes known before it begins."""
    from pyspark.sql import SparkSession

    os.environ["JAVA_HOME"] = java.home()
    os.environ.pop("SPARK_HOME", None)  # the jars of another Spark would be mixed with our Python files
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(MASTER).appName("ddlrepl lake")
    for name, value in {**_SETTINGS, **session_properties(location)}.items():
        builder = builder.config(name, value)
    with _starting():
        return builder.getOrCreate()


@contextmanager
def _starting() -> Iterator[None]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (Py4JError, PySparkException) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise DdlReplError(
            f"Spark does not start at {MASTER}: {redact(lines[0] if lines else type(error).__name__)}",
            code="SPK-104",
            hint="is there memory for one more app? `ddlrepl doctor` checks Java and Spark",
            retryable=True,
        ) from None


def _unfit(why: str) -> DdlReplError:
    return DdlReplError(
        f"the Spark session of this process can't write to a lake: {why}",
        code="SPK-105",
        hint="start the driver as a classic session with Iceberg's jar and extension (docs/lakehouse.md), or without a"
        " session: one is started then",
    )


def has_stopped() -> bool:
    """Has the Spark of this process stopped? Its Java still answers, and refuses everything."""
    if (module := sys.modules.get("pyspark.core.context")) is None:
        return False
    context = module.SparkContext._active_spark_context
    return context is not None and (context._jsc is None or bool(context._jsc.sc().isStopped()))


def _forget_session() -> None:
    """Have no session in a forked process: the Java of its parent is not its own."""
    _beside.cache_clear()
    if (context := sys.modules.get("pyspark.core.context")) is None:
        return
    from pyspark.sql import SparkSession

    context.SparkContext._gateway = context.SparkContext._jvm = None
    context.SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None


os.register_at_fork(after_in_child=_forget_session)
