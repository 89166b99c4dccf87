"""A table of ten columns in a lake, and what both sides of a ratio do to it where no reader sees it."""

from __future__ import annotations

import gc
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from pyspark.sql import SparkSession

from airflow_ddlrepl.engines.lake.catalog.window import Window
from airflow_ddlrepl.engines.lake.connection.database import writing
from airflow_ddlrepl.engines.lake.connection.session import lake_session
from airflow_ddlrepl.engines.lake.merge.stage import DELETE, INSERT, UPDATE, Staged
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from benchmarks import ours
from benchmarks.pairs import Figure, Pair
from benchmarks.processor import client_seconds
from benchmarks.ratios import Bench, databases
from benchmarks.workload import Kind, fill, prepare

KIND = Kind(
    "lake",
    (
        ("account", "integer", "(i % 100000)::int"),
        ("amount", "numeric(12,2)", "(i % 1000000)::numeric / 100"),
        ("state", "text", "'state ' || i % 7"),
        ("changed", "timestamptz", "'2026-11-21 08:00:00+00'::timestamptz + i * interval '1 ms'"),
        ("note", "text", "'note of row ' || i"),
        ("n", "bigint", "i * 11"),
        ("d", "numeric(14,4)", "((i * 17) % 100000000)::numeric / 10000"),
        ("day", "date", "'2020-01-01'::date + (i % 2000)::int"),
        ("payload", "text", "md5(i::text) || md5((i + 1)::text) || md5((i + 2)::text)"),
    ),
)
UPDATED, DELETED, INSERTED = "id % 50 IN (1, 2, 3)", "id % 50 = 4", "id % 50 = 5"
"""Which rows a window changes: a tenth of the table, all over it. Those inserted are copies with higher keys."""
_numbers = count()


def location(folder: Path, name: str) -> str:
    """Return the location of a lake in a folder."""
    return f"iceberg://{folder}/{name}/catalog.db?warehouse={folder}/{name}/warehouse"


@dataclass(frozen=True)
class Lake:
    """A lake with one table, loaded from a source. shape: as the channel has stored it."""

    location: str
    source: str
    channel: ours.Ours
    name: TableName
    shape: Table
    folder: Path

    @property
    def spark(self) -> SparkSession:
        return lake_session(self.location)

    @contextmanager
    def window(self, is_seen: bool = False) -> Iterator[tuple[Window, str]]:
        """Yield a window, and the table's name in Spark there. is_seen: readers see afterwards what was done."""
        window = Window(self.location, f"w_bench_{next(_numbers)}")
        yield window, window.table(self.name)
        window.commit()
        with writing(self.location) as connection:
            if is_seen:
                window.flip(connection)
        window.begin()

    def id_of(self, column: str) -> int:
        return next(one.id for one in self.shape.columns if one.name == column)

    def net_change(self, table: str, of: Mapping[int, str] | None = None) -> Staged:
        """Write a window's net change of a table, whole rows, and return it as a task leaves it."""
        wanted = of or {UPDATE: UPDATED, DELETE: DELETED, INSERT: INSERTED}
        parts = []
        for operation, where in wanted.items():
            changed = {"id": "id + 1000000000" if operation == INSERT else "id", "account": "account + 1"}
            values = ", ".join(f"{changed.get(c.name, c.name)} AS a{c.id}" for c in self.shape.columns)
            parts.append(f"SELECT CAST({operation} AS TINYINT) AS op, {values} FROM {table} WHERE {where}")
        path = self.folder / f"net_{next(_numbers)}"
        rows = self.spark.sql(" UNION ALL ".join(parts)).coalesce(1)
        rows.write.parquet(str(path))
        (file,) = path.glob("*.parquet")
        found = self.spark.read.parquet(str(file)).groupBy("op").count().collect()
        words = {DELETE: "deletes", UPDATE: "updates", INSERT: "inserts"}
        counts = {words[row["op"]]: row["count"] for row in found}
        return Staged(
            (self.id_of("id"),), {"rows": str(file)}, {"rows": dict(rows.dtypes)}, counts, sum(counts.values())
        )

    def merge_sql(self, table: str, source: str, payload: str = "s.a{payload}") -> str:
        """Return the MERGE that a person writes for a net change. payload: what an update sets the wide column to."""
        ids = {one.name: one.id for one in self.shape.columns}
        values = {name: f"s.a{number}" for name, number in ids.items()}
        sets = {**values, "payload": payload.format(payload=ids["payload"])}
        updates = ", ".join(f"t.{name} = {value}" for name, value in sets.items() if name != "id")
        return (
            f"MERGE INTO {table} AS t USING {source} AS s ON t.id = s.a{ids['id']}"
            f" WHEN MATCHED AND s.op = {DELETE} THEN DELETE WHEN MATCHED AND s.op = {UPDATE} THEN UPDATE SET {updates}"
            f" WHEN NOT MATCHED AND s.op = {INSERT} THEN INSERT ({', '.join(values)})"
            f" VALUES ({', '.join(values.values())})"
        )


@contextmanager
def loaded(bench: Bench, name: str, rows: int) -> Iterator[Lake]:
    """Yield a lake with a table of so many rows, which a channel has loaded."""
    (source,) = databases(bench, name)
    prepare(source, KIND)
    fill(source, KIND, rows)
    place = location(bench.folder, name)
    path = ours.write_channel(bench.folder, name, KIND.name, source, place)
    with ours.opened(path, bench.runner) as mine:
        mine.activate()
        (table,) = mine.run.target("copy").state().table_states.values()
        yield Lake(place, source, mine, table.name, table.shape, bench.folder / name)
    shutil.rmtree(bench.folder / name, ignore_errors=True)


Took = tuple[float, float]
"""Seconds by the clock, and of processors, without those of the servers."""


def taken(bench: Bench, work: Callable[[], object]) -> Took:
    """Return what some work takes."""
    gc.collect()
    before, started = client_seconds((bench.source, bench.target)), time.monotonic()
    work()
    return time.monotonic() - started, client_seconds((bench.source, bench.target)) - before


def in_turns(bench: Bench, what: str, amount: int, mine: Callable[[], Took], peer: Callable[[], Took]) -> list[Figure]:
    """Return two figures of pairs, by the clock and in processor time; the first round only warms up."""

    def pairs() -> Iterator[tuple[Took, Took]]:
        for number in range(bench.pairs + 1):
            took = {side: side() for side in ((mine, peer) if number % 2 else (peer, mine))}
            yield took[mine], took[peer]

    return figures(bench, what, amount, pairs())


def figures(bench: Bench, what: str, amount: int, pairs: Iterable[tuple[Took, Took]]) -> list[Figure]:
    """Return two figures of pairs, ours first: by the clock and in processor time. The first one only warms up."""
    found: list[tuple[Took, Took]] = []
    for mine, peer in pairs:
        found.append((mine, peer))
        told = " / ".join(f"{clock:.2f} s ({processor:.2f})" for clock, processor in (mine, peer))
        bench.say(f"{what} {len(found) - 1}/{bench.pairs}: {told}")
    words = (what, f"{what}, processor time")
    return [
        Figure(word, tuple(Pair(amount, one[at], other[at]) for one, other in found[1:]))
        for at, word in enumerate(words)
    ]
