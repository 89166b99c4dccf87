"""What happens at the source of a channel that is killed: rows with and without a key, and DDL among them.

Everything in the schema `kept` is known here, statement by statement; random statements keep away from it.
"""

from __future__ import annotations

import random
import threading
from contextlib import suppress
from typing import Any

import psycopg

from tests.histories.catalog import Seen

SCHEMA = "kept"
START = (
    "create schema kept",
    "create table kept.orders (id int primary key, note text)",
    "insert into kept.orders select i, 'order ' || i from generate_series(1, 200) i",
    "create table kept.log (what text, n int, marks int[] default '{1}')",  # an array: staged in a table of its own
    "insert into kept.log select 'twice', i % 5 from generate_series(1, 40) i",
    "create table kept.rates (id int primary key, rate text)",
    "insert into kept.rates select i, i::text from generate_series(1, 300) i",
    "create type kept.mood as enum ('calm')",
    "create table kept.days (felt kept.mood, n int)",
)


def work(number: int) -> tuple[str, ...]:
    """Statements that give every step of a cycle something to do; no two numbers clash."""
    return (
        f"insert into kept.orders (id, note) values ({number}000, 'new'), ({number}001, 'short-lived')",
        "insert into kept.log values ('twice', 1), ('twice', 1), ('once', 2)",
        "begin; update kept.orders set note = note || '.' where id % 7 = 0; "
        f"alter table kept.orders add column c{number} int default {number}; "
        f"insert into kept.orders (id, note, c{number}) values ({number}002, 'in between', 5); commit",
        "delete from kept.log where ctid = (select min(ctid) from kept.log where what = 'twice')",
        f"delete from kept.orders where id = {number}001",
        f"alter type kept.mood add value 'mood {number}'",
        f"insert into kept.days values ('mood {number}', {number}), ('calm', {number})",
        f"create table kept.made_{number} (n int, id serial)",
        f"insert into kept.made_{number} values (1), (1), (2)",
        f"alter table kept.rates add column u{number} uuid default gen_random_uuid()",  # comes by a refresh
        "update kept.rates set rate = rate || 'x' where id < 10",
    )


def visible(session: psycopg.Connection[Any], rng: random.Random) -> Seen:
    """What random statements may touch."""
    seen = Seen.by(session, rng)
    seen.tables = [table for table in seen.tables if not table.name.startswith(f"{SCHEMA}.")]
    seen.types = [of for of in seen.types if not of.name.startswith(f"{SCHEMA}.")]
    return seen


class Writer(threading.Thread):
    """Somebody who goes on writing while runs are killed: `with` stops it."""

    def __init__(self, source: str, seed: int) -> None:
        super().__init__(daemon=True)
        self._source, self._rng, self._ending = source, random.Random(seed), threading.Event()

    def run(self) -> None:
        with psycopg.connect(self._source, autocommit=True) as connection:
            connection.execute("set lock_timeout = '100ms'")
            while not self._ending.is_set():
                with suppress(psycopg.Error):  # a lock that is not free at once: the next statement, then
                    connection.execute(self._statement())  # type: ignore[call-overload]
                self._ending.wait(self._rng.uniform(0, 0.03))

    def _statement(self) -> str:
        rng = self._rng
        n = rng.randrange(5)
        return rng.choice(
            [
                f"insert into kept.log values ('written', {n}), ('written', {n})",
                f"update kept.log set n = n + 1 where ctid = (select max(ctid) from kept.log where n = {n})",
                f"delete from kept.log where ctid = (select min(ctid) from kept.log where n = {n})",
                f"update kept.orders set note = '{n}' where id = {rng.randrange(1, 200)}",
                f"begin; insert into kept.log values ('rolled back', {n}); rollback",
                f"begin; insert into kept.log values ('kept', {n}); savepoint a; "
                "delete from kept.log where what = 'kept'; rollback to a; commit",
                "alter table kept.log alter n set default 1",
            ]
        )

    def __enter__(self) -> Writer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self.join()
