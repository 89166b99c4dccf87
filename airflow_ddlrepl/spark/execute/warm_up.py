"""This small Spark job loads every class which a channel's job loads; spark-submit runs this file.

Its argument, if there is one, is the location of a target: the job does there what a window does, in another place.
"""

from __future__ import annotations

import sys
import tempfile

from airflow_ddlrepl.engines import engine
from airflow_ddlrepl.spark.execute.runner import SparkRunner
from airflow_ddlrepl.spark.session.settings import SparkSettings


def warm_up(location: str = "") -> None:
    """Run two items through Spark, and a window of the location's engine; stop Spark."""
    runner = SparkRunner(SparkSettings(targets=(location,) if location else ()), app_name="ddlrepl warm-up")
    runner.map(abs, [-1, 1], "warm-up")
    if location:
        with tempfile.TemporaryDirectory(prefix="ddlrepl-warm-up-") as folder:
            engine(location).warm_up(folder)
    runner.stop()


if __name__ == "__main__":
    warm_up(*sys.argv[1:2])
