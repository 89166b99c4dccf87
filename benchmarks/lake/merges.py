"""Rows merged into a lake's table: ours against the best that a person writes by hand, and against the textbook's."""

from __future__ import annotations

import shutil
from functools import partial

from airflow_ddlrepl.engines.lake.merge.merge import merge
from airflow_ddlrepl.engines.lake.merge.stage import Staged
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from benchmarks.lake.place import KIND, Lake, Took, figures, in_turns, loaded, taken
from benchmarks.pairs import Figure
from benchmarks.ratios import Bench

TEXTBOOK = "CASE WHEN s.a{payload} IS NULL THEN t.payload ELSE s.a{payload} END"
"""What a person writes who does not know that a column of the target that is named is read for all rows."""


def merges(bench: Bench, rows: int) -> list[Figure]:
    """A prepared window of a tenth of the table's rows, in one warm session, on the same snapshot each time."""
    found: list[Figure] = []
    with loaded(bench, "lake_merge", rows) as lake:
        with lake.window() as (_, table):
            change = lake.net_change(table)
        size = sum(change.counts.values())
        mine = partial(_product, bench, lake, change)
        sides = {
            "prepared window: ours / the best MERGE by hand": "s.a{payload}",
            "all columns present: ours / the textbook's MERGE": TEXTBOOK,
        }
        for what, payload in sides.items():
            found += in_turns(bench, what, size, mine, partial(_by_hand, bench, lake, change, payload))
        what = "trail to commit: ours / row_number over plain Parquet and MERGE, by hand"
        rounds = (_from_log(bench, lake, number) for number in range(bench.pairs + 1))
        found += figures(bench, what, rows * 12 // 100, rounds)
        lake.channel.compare()
    return found


def _product(bench: Bench, lake: Lake, change: Staged) -> Took:
    with lake.window() as (window, table):
        return taken(bench, lambda: merge(window.spark, table, lake.name, lake.shape, [change]))


def _by_hand(bench: Bench, lake: Lake, change: Staged, payload: str) -> Took:
    with lake.window() as (window, table):
        window.spark.read.parquet(str(change.files["rows"])).createOrReplaceTempView("by_hand")
        return taken(bench, lambda: window.spark.sql(lake.merge_sql(table, "by_hand", payload)))


def _from_log(bench: Bench, lake: Lake, number: int) -> tuple[Took, Took]:
    """The trail to what readers see, and by hand `row_number` over the same changes in plain Parquet, and a MERGE.

    By hand comes first: from the table as it is before.
    """
    changes = lake.folder / "changes"
    with lake.window() as (_, table):
        _write_changes(lake, table, str(changes), number)
        by_hand = taken(bench, lambda: _dedup_and_merge(lake, table, str(changes)))
    shutil.rmtree(changes)
    _change_source(lake, number)
    lake.channel.capture()
    return taken(bench, lake.channel.integrate), by_hand


def _where(number: int) -> dict[str, str]:
    """Return which rows a round changes: updated, updated again, deleted, inserted (copies with higher keys)."""
    old = "id < 1000000000"
    return {
        "updated": f"id % 50 IN (1, 2, 3) AND {old}",
        "again": f"id % 50 IN (1, 2) AND {old}",
        "deleted": f"id % 1000 = {4 + 50 * number} AND {old}",
        "inserted": f"id % 50 = 5 AND {old}",
    }


def _write_changes(lake: Lake, table: str, path: str, number: int) -> None:
    where, columns = _where(number), [one.name for one in lake.shape.columns]
    new = {"id": f"id + {(number + 1) * 1_000_000_000}", "account": "account + 1"}
    parts = []
    for seq, (op, what) in enumerate(((1, "updated"), (1, "again"), (0, "deleted"), (2, "inserted"))):
        changed = new if op == 2 else {"account": "account + 1"}
        values = ", ".join(f"{changed.get(name, name)} AS a{lake.id_of(name)}" for name in columns)
        parts.append(f"SELECT CAST({op} AS TINYINT) AS op, {seq} AS seq, {values} FROM {table} WHERE {where[what]}")
    lake.spark.sql(" UNION ALL ".join(parts)).write.parquet(path)


def _dedup_and_merge(lake: Lake, table: str, path: str) -> None:
    spark, key = lake.spark, f"a{lake.id_of('id')}"
    spark.read.parquet(path).createOrReplaceTempView("changes_by_hand")
    number = f"row_number() OVER (PARTITION BY {key} ORDER BY seq DESC) AS number"
    newest = f"SELECT * FROM (SELECT *, {number} FROM changes_by_hand) WHERE number = 1"
    net = f"{path}.net"
    spark.sql(newest).write.parquet(net)
    spark.read.parquet(net).createOrReplaceTempView("net_by_hand")
    spark.sql(lake.merge_sql(table, "net_by_hand"))
    shutil.rmtree(net)


def _change_source(lake: Lake, number: int) -> None:
    where, name = _where(number), KIND.name
    columns, later = [one for one, _, _ in KIND.columns], (number + 1) * 1_000_000_000
    values = ", ".join(f"{one} + 1" if one == "account" else one for one in columns)
    with connect(lake.source) as connection:
        for statement in (
            f"UPDATE {name} SET account = account + 1 WHERE {where['updated']}",
            f"UPDATE {name} SET account = account + 1 WHERE {where['again']}",
            f"DELETE FROM {name} WHERE {where['deleted']}",
            f"INSERT INTO {name} SELECT id + {later}, {values} FROM {name} WHERE {where['inserted']}",
        ):
            connection.execute(statement.encode())
