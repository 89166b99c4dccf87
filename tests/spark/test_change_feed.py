"""The change feed as a Spark data source: a batch, and a stream that goes on from its checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from airflow_ddlrepl.spark.change_feed import register
from airflow_ddlrepl.spark.execute.runner import SparkRunner
from tests.support.replica import Replica, channel_file

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.usefixtures("spark")]


@pytest.fixture
def replica(databases: Any, tmp_path: Path) -> Iterator[Replica]:
    made = Replica(databases.source, databases.target, channel_file(tmp_path, databases.source, databases.target))
    made.at_source("CREATE TABLE t (id int PRIMARY KEY, price numeric(12,2), at timestamptz)")
    made.begin()
    yield made


@pytest.fixture
def session(runner: SparkRunner) -> SparkSession:
    spark = runner._started()
    register(spark)
    return spark


def test_a_batch_is_what_was_captured_when_it_was_loaded(
    replica: Replica, session: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    replica.at_source("INSERT INTO t VALUES (1, 12.50, '2026-11-21 08:00:00+00')", "UPDATE t SET id = 2")
    replica.capture()
    feed = session.read.format("ddlrepl").option("channel", str(replica.file)).option("table", "public.t").load()
    replica.at_source("ALTER TABLE t ADD note text", "INSERT INTO t (id) VALUES (3)")
    replica.capture()
    found = feed.orderBy("_position", "_sequence").selectExpr("_operation", "id", "before_id", "string(price)")
    assert [tuple(row) for row in found.collect()] == [("insert", 1, None, "12.50"), ("update", 2, 1, "12.50")]
    assert dict(feed.dtypes)["price"] == "decimal(12,2)"
    feed.explain(extended=True)
    password = replica.source.split("@")[0].rpartition(":")[2]
    assert len(password) > 8
    assert "ddlrepl" in (plan := capsys.readouterr().out)
    assert password not in plan


def test_a_feed_without_changes_has_no_rows(replica: Replica, session: SparkSession) -> None:
    options = {"channel": str(replica.file), "table": "public.t", "start": "now"}
    feed = session.read.format("ddlrepl").options(**options).load()
    assert feed.columns[-1] == "before_at"
    assert feed.collect() == []


def test_a_stream_goes_on_from_its_checkpoint_and_takes_new_columns_when_it_starts_again(
    replica: Replica, session: SparkSession, tmp_path: Path
) -> None:
    found: list[tuple[Any, ...]] = []

    def take(batch: DataFrame, _: int) -> None:
        rows = [row.asDict() for row in batch.orderBy("_position", "_sequence").collect()]
        found.extend((row["id"], row.get("size")) for row in rows)

    def query() -> Any:
        options = {"channel": str(replica.file), "table": "public.t"}
        feed = session.readStream.format("ddlrepl").options(**options).load()
        writer = feed.writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path / "checkpoint"))
        return writer.start()

    running = query()
    try:
        for number in (1, 2):
            replica.at_source(f"INSERT INTO t VALUES ({number})")
            replica.capture()
            running.processAllAvailable()
        assert found == [(1, None), (2, None)]
        replica.at_source("ALTER TABLE t DROP price", "INSERT INTO t VALUES (3)")
        replica.at_source("ALTER TABLE t ADD size int", "INSERT INTO t VALUES (4, NULL, 7)")
        replica.capture()
        with pytest.raises(PySparkException, match="TRL-126"):
            running.processAllAvailable()
    finally:
        running.stop()
    again = query()
    try:
        again.processAllAvailable()
    finally:
        again.stop()
    assert found == [(1, None), (2, None), (3, None), (4, 7)]
