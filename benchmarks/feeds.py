"""The change feed against Spark's own Parquet reader on the same files."""

from __future__ import annotations

import time
from functools import partial

from pyspark.sql import DataFrame

from airflow_ddlrepl.spark.change_feed import register
from airflow_ddlrepl.spark.session.session import session
from benchmarks import ours
from benchmarks.pairs import Figure, Pair, measure
from benchmarks.ratios import Bench, databases
from benchmarks.workload import Kind, change, prepare


def feeds(bench: Bench, kind: Kind, wanted: int) -> list[Figure]:
    """Every change of a table, read by the change feed, and its files as they are by Spark; nobody keeps the rows."""
    name = f"feed_{kind.name}"
    source, copy = databases(bench, name, "copy")
    prepare(source, kind)
    path = ours.write_channel(bench.folder, name, kind.name, source, copy)
    with ours.opened(path, bench.runner) as mine:
        mine.activate()
        done, _ = change(source, kind, wanted, 0)
        mine.capture(done)
    spark = session("ddlrepl benchmarks")
    register(spark)
    feed = spark.read.format("ddlrepl").options(channel=str(path), table=f"public.{kind.name}").load()
    files = spark.read.option("recursiveFileLookup", "true").option("pathGlobFilter", "*0.parquet")
    plain = files.parquet(str(bench.folder / name / name))
    assert feed.count() == plain.count() == done
    pairs: list[Pair] = []
    for number in range(bench.pairs + 1):
        pair = measure(done, partial(_read, feed), partial(_read, plain), number, bench.settle)
        if number:  # the first round only warms up
            pairs.append(pair)
            bench.say(f"{kind.name} {number}/{bench.pairs}: feed x{pair.ratio:.2f}")
    return [Figure(f"change feed {kind.name} / Spark's Parquet reader on its files", tuple(pairs))]


def _read(frame: DataFrame) -> float:
    """Seconds to read all rows."""
    start = time.monotonic()
    frame.write.format("noop").mode("overwrite").save()
    return time.monotonic() - start
