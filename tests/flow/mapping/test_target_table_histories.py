"""target_tables: random changes and DDL, with deleted rows that stay at one target and a row per change at another."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import psycopg

from tests.support.restricting import active

TABLE = "CREATE TABLE t (id int PRIMARY KEY, k int, v text, n numeric)"


def test_random_ddl_with_deleted_rows_at_one_target_and_a_history_at_another(
    databases: Any, tmp_path: Path, past: str
) -> None:
    kept = {"soft_delete": "gone", "deleted_at": "gone_at", "extra": {"s": "k + 1", "w": "{commit_time}"}}
    each = {"time_key": True, "extra": {"op": "{operation}", "pos": "{position}", "seq": "{sequence}"}}
    replica = active(
        databases,
        tmp_path,
        (TABLE, "ALTER TABLE t ALTER v SET STORAGE EXTERNAL"),
        targets=[{"name": "warehouse", "location": databases.target}, {"name": "second", "location": past}],
        restrict=[{"targets": "warehouse", "condition": "k <> 5"}],
        target_tables=[{"targets": "warehouse", **kept}, {"targets": "second", **each}],
    )
    chance, added = random.Random(7), list[str]()
    for cycle in range(10):
        for number in range(4):
            work = [_change(chance) for _ in range(chance.randint(1, 12))]
            if number == 0:
                work.append(_ddl(chance, added, cycle))
            try:
                replica.at_source(f"BEGIN; {'; '.join(work)}; COMMIT")
            except psycopg.Error:  # a mandatory column, a text that is no number
                assert number
        if cycle % 4 == 3:
            replica.refresh("public.t", options=chance.choice(["-gb", "-gr"]))
        replica.settle()


def _change(chance: random.Random) -> str:
    one, other, k = (chance.randint(1, 8) for _ in range(3))
    return chance.choice(
        [
            f"INSERT INTO t (id, k, v, n) VALUES ({one}, {k}, repeat('x{k}', 3000), {k}) ON CONFLICT DO NOTHING",
            f"INSERT INTO t (id, k) VALUES ({one}, {k}) ON CONFLICT (id) DO UPDATE SET k = EXCLUDED.k",
            f"UPDATE t SET k = {k} WHERE id = {one}",
            f"UPDATE t SET v = 'u{k}' WHERE id = {one}",
            f"DELETE FROM t WHERE id = {one}",
            f"UPDATE t SET id = {other} WHERE id = {one} AND NOT EXISTS (SELECT FROM t WHERE id = {other})",
        ]
    )


def _ddl(chance: random.Random, added: list[str], number: int) -> str:
    kind = chance.choice(["int", "text DEFAULT 'd'", "int NOT NULL DEFAULT 3", "drop", "type", "truncate"])
    if kind == "truncate":
        return "TRUNCATE t"
    if kind == "type":
        return f"ALTER TABLE t ALTER n TYPE {chance.choice(['numeric(20,3)', 'double precision', 'numeric'])}"
    if kind == "drop":
        return f"ALTER TABLE t DROP {added.pop()}" if added else "ALTER TABLE t ALTER k SET DEFAULT 1"
    added.append(f"c{number}")
    return f"ALTER TABLE t ADD c{number} {kind}"


def test_random_deletes_stay_whatever_a_cycle_holds(databases: Any, tmp_path: Path) -> None:
    """What is deleted stays as it was last; a row that comes to a deleted one's key takes its place.

    One that came and went on to another key in the same cycle may leave it there.
    """
    entry = {"tables": "t", "soft_delete": "gone"}
    replica = active(databases, tmp_path, ("CREATE TABLE t (id int PRIMARY KEY, n int)",), target_tables=[entry])
    chance = random.Random(25)
    alive: dict[int, int] = {}
    dead: dict[int, int] = {}
    for cycle in range(6):
        done = [_work(chance, alive, dead, number) for number in range(cycle * 100, cycle * 100 + 60)]
        replica.at_source("; ".join(done))
        replica.settle()
        assert dict(replica.rows("SELECT id, n FROM t WHERE NOT gone")) == alive, done
        assert dead.items() <= dict(replica.rows("SELECT id, n FROM t WHERE gone")).items(), done


def _work(chance: random.Random, alive: dict[int, int], dead: dict[int, int], n: int) -> str:
    """One statement, done to what is alive and dead."""
    one, other = chance.sample(range(9), 2)
    if one not in alive:
        alive[one] = n
        dead.pop(one, None)
        return f"INSERT INTO t VALUES ({one}, {n})"
    kind = chance.choice(["update", "delete", "move", "delete"])
    if kind == "update":
        alive[one] = n
        return f"UPDATE t SET n = {n} WHERE id = {one}"
    if kind == "move" and other not in alive:
        alive[other] = alive.pop(one)
        dead.pop(other, None)
        return f"UPDATE t SET id = {other} WHERE id = {one}"
    dead[one] = alive.pop(one)
    return f"DELETE FROM t WHERE id = {one}"
