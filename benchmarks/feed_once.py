"""The readers of a captured table in a Spark session of their own.

`python -m benchmarks.feed_once CHANNEL TABLE ROUNDS` prints a JSON object per action and round: the seconds of each
reader. The session is what people have who read a feed: its JVM compiles what runs often, other than the product's own,
and has the options that docs/change_feed.md recommends.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from airflow_ddlrepl.spark.change_feed import register
from airflow_ddlrepl.spark.session.session import session
from airflow_ddlrepl.spark.session.settings import SparkSettings
from benchmarks.plain_source import ROW_FILES, PlainSource

JAVA = "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false"
SESSION = SparkSettings(conf={"spark.driver.extraJavaOptions": JAVA, "spark.driver.memory": "1g"})
FEED, PLAIN, SPARK = "change feed", "plain Python source", "Spark's Parquet reader"


def main(channel: str, table: str, rounds: str) -> None:
    frames = readers(Path(channel), table)
    counts = {reader: frame.count() for reader, frame in frames.items()}
    assert len(set(counts.values())) == 1, counts
    for action, run in ACTIONS.items():
        sides = {reader: partial(run, frame) for reader, frame in frames.items()}
        for number in range(int(rounds)):
            print(json.dumps({"action": action, "rows": counts[FEED], "seconds": in_turns(sides, number)}), flush=True)


def readers(channel: Path, table: str) -> dict[str, DataFrame]:
    """The three ways to read the files of a captured table. channel: its file; its trail lies beside it."""
    spark = session("ddlrepl benchmarks", SESSION)
    register(spark)
    spark.dataSource.register(PlainSource)
    trail = str(channel.with_suffix(""))
    files = spark.read.option("recursiveFileLookup", "true").option("pathGlobFilter", ROW_FILES)
    return {
        FEED: spark.read.format("ddlrepl").options(channel=str(channel), table=f"public.{table}").load(),
        PLAIN: spark.read.format(PlainSource.name()).option("folder", trail).load(),
        SPARK: files.parquet(trail),
    }


def in_turns(sides: Mapping[str, Callable[[], None]], number: int) -> dict[str, float]:
    """Seconds of each side; another one goes first every time."""
    order = list(sides)
    took = {}
    for side in order[number % len(order) :] + order[: number % len(order)]:
        started = time.monotonic()
        sides[side]()
        took[side] = time.monotonic() - started
    return took


def _read(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _hash(frame: DataFrame) -> None:
    frame.agg(F.bit_xor(F.xxhash64(*frame.columns))).collect()


ACTIONS: dict[str, Callable[[DataFrame], None]] = {"read": _read, "read and hashed": _hash}

if __name__ == "__main__":
    main(*sys.argv[1:])
