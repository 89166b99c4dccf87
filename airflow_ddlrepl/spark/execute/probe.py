"""Try on the workers of a cluster whether their Python has what tasks import, before there is a task."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from airflow_ddlrepl.engines import engines_of_sources
from airflow_ddlrepl.spark.session.settings import is_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

NEEDED = ("pyarrow", "pandas", "numpy", "fsspec", "pydantic")
"""What tasks import, besides the standard library and drivers; docs/deployment.md lists their packages."""


def needed() -> tuple[str, ...]:
    """Return what tasks import, with the drivers for sources, which every channel has."""
    return (*NEEDED, *(module for one in engines_of_sources() for module in one.drivers))


def import_all(names: Sequence[str]) -> None:
    """Import modules by their names. Raises ImportError."""
    for name in names:
        importlib.import_module(name)


def has_own_python(spark: SparkSession, remote: str) -> bool:
    """Return whether the session's workers may run another Python than this process; those of a local master do not.

    remote: URL of a Spark Connect server; empty: there is none.
    """
    return not is_local(remote or str(spark.sparkContext.master))


@contextmanager
def quiet(spark: SparkSession, remote: str) -> Iterator[None]:
    """Keep the traces of failing attempts out of the log: what fails here becomes one error. For a JVM of ours only.

    A failure ends the session, so the log stays off: what executors send to an ended scheduler is no news.
    """
    if remote:
        yield
        return
    context = spark.sparkContext
    level = str(context._jvm.org.apache.logging.log4j.LogManager.getRootLogger().getLevel())  # type: ignore[union-attr]
    context.setLogLevel("OFF")
    yield
    context.setLogLevel(level)
