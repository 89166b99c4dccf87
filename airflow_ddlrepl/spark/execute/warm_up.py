"""This small Spark job loads every class which a channel's job loads; spark-submit runs this file."""

from __future__ import annotations

from airflow_ddlrepl.spark.execute.runner import SparkRunner


def warm_up() -> None:
    """Run two items through Spark, and stop it."""
    runner = SparkRunner(app_name="ddlrepl warm-up")
    runner.map(abs, [-1, 1], "warm-up")
    runner.stop()


if __name__ == "__main__":
    warm_up()
