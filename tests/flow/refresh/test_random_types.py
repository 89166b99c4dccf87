"""Random values of every built-in type go through refresh and through the stream and are equal to the byte.

DDLREPL_TYPES_SEED: another seed than the one of every day; it is printed.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.postgres.log.test_capture_range_types import has_xml
from tests.support.builtin_types import NO_INPUT, Found, Kind, can_be_key, find, takes_values
from tests.support.replica import Replica, channel_file

SEED = int(os.environ.get("DDLREPL_TYPES_SEED", "4"))
WIDE, KEYS = 48, 6
WIRES = pytest.mark.parametrize(("databases", "wire"), [(18, "binary"), (15, "text")], indirect=["databases"])
"""Each version with another form of rows in the log; DDLREPL_TYPES_SEED draws others."""


class World:
    """Tables of every kind that can travel in a format, and random statements about their rows.

    w…: with a number as key. f…: without a key, replica identity full. k…: keys of the types themselves.
    """

    def __init__(self, connection: psycopg.Connection[Any], kinds: Sequence[Kind], rng: random.Random) -> None:
        self.connection = connection
        self.rng = rng
        keys = [kind for kind in kinds if can_be_key(connection, kind)]
        self.tables: dict[str, list[Kind]] = {}
        for prefix, found, size in (("w", kinds, WIDE), ("f", kinds, WIDE), ("k", keys, KEYS)):
            for at in range(0, len(found), size):
                self.tables[f"{prefix}{at // size}"] = list(found[at : at + size])

    def create(self) -> None:
        for table, kinds in self.tables.items():
            columns = ", ".join(f"c{i} {kind.spelled}" for i, kind in enumerate(kinds))
            keys = ", ".join(f"c{i}" for i in range(len(kinds)))
            key = {"w": ", PRIMARY KEY (id)", "k": f", PRIMARY KEY ({keys})"}.get(table[0], "")
            self.run(f"CREATE TABLE {table} (id int, {columns}{key})")
            if table[0] == "f":
                self.run(f"ALTER TABLE {table} REPLICA IDENTITY FULL")

    def run(self, statement: str, values: Sequence[str | None] = ()) -> None:
        self.connection.execute(statement.encode(), values or None)

    def value(self, table: str, kind: Kind) -> str | None:
        if table[0] != "k":
            return None if self.rng.random() < 0.1 else kind.make(self.rng)
        draws = (kind.make(self.rng) for _ in range(20))
        return next((value for value in draws if len(value) < 90), kind.make(random.Random(0)))

    def insert(self, table: str) -> None:
        kinds = self.tables[table]
        holes = ", ".join(f"%s::{kind.spelled}" for kind in kinds)
        values = [self.value(table, kind) for kind in kinds]
        self.run(
            f"INSERT INTO {table} VALUES ({self.rng.randrange(99)}, {holes}) ON CONFLICT DO NOTHING",
            values,
        )

    def update(self, table: str) -> None:
        """Some columns of one row; the others stay, out of line or not."""
        kinds = self.tables[table]
        some = self.rng.sample(range(len(kinds)), min(len(kinds), self.rng.choice([1, 1, 3])))
        parts = [f"c{i} = %s::{kinds[i].spelled}" for i in some]
        parts += [f"id = {self.rng.randrange(99)}"] if self.rng.random() < 0.2 else []
        values = [self.value(table, kinds[i]) for i in some]
        with suppress(psycopg.errors.UniqueViolation):
            self.run(f"UPDATE {table} SET {', '.join(parts)} WHERE {self.one(table)}", values)

    def respell(self, table: str) -> None:
        """A row is deleted and comes back with one other value, perhaps an equal one."""
        i = self.rng.randrange(len(self.tables[table]))
        kind = self.tables[table][i]
        columns = ["id", *(f"c{n}" for n in range(len(self.tables[table])))]
        again = ", ".join(f"%s::{kind.spelled}" if name == f"c{i}" else name for name in columns)
        self.run(
            f"WITH gone AS (DELETE FROM {table} WHERE {self.one(table)} RETURNING *)"
            f" INSERT INTO {table} SELECT {again} FROM gone ON CONFLICT DO NOTHING",
            [self.value(table, kind)],
        )

    def delete(self, table: str) -> None:
        self.run(f"DELETE FROM {table} WHERE {self.one(table)}")

    def twice(self, table: str) -> None:
        """The same row once more, where nothing forbids it."""
        self.run(f"INSERT INTO {table} SELECT * FROM {table} WHERE {self.one(table)} ON CONFLICT DO NOTHING")

    def one(self, table: str) -> str:
        return f"ctid = (SELECT ctid FROM {table} ORDER BY ctid OFFSET {self.rng.randrange(6)} LIMIT 1)"

    def change(self, rounds: int) -> None:
        doings = [self.insert, self.insert, self.update, self.update, self.respell, self.delete, self.twice]
        for table in self.tables:
            self.connection.execute("BEGIN")
            for _ in range(rounds):
                self.connection.execute("SAVEPOINT one")
                self.rng.choice(doings)(table)
            self.connection.execute("COMMIT")

    def fill(self, rows: int) -> None:
        for table in self.tables:
            for _ in range(rows):
                self.insert(table)


def sent(dsn: str, table: str, kinds: Sequence[Kind]) -> list[tuple[Any, ...]]:
    """Every row as the types' send functions write it, sorted."""
    columns = (kind.send % f"c{i}" for i, kind in enumerate(kinds))
    with psycopg.connect(dsn) as connection:
        return sorted(connection.execute(f"SELECT id, {', '.join(columns)} FROM {table}".encode()), key=repr)


def check(replica: Replica, world: World) -> None:
    for table, kinds in world.tables.items():
        ours, theirs = sent(replica.source, table, kinds), sent(replica.target, table, kinds)
        assert ours, table
        if ours != theirs:
            pytest.fail(f"seed {SEED}: {table}\n{difference(kinds, ours, theirs)}", pytrace=False)


def difference(kinds: Sequence[Kind], ours: list[tuple[Any, ...]], theirs: list[tuple[Any, ...]]) -> str:
    """The columns that differ, or the rows."""
    for column, kind in enumerate(kinds, 1):
        one, two = (sorted((row[column] for row in rows), key=repr) for rows in (ours, theirs))
        if one != two:
            only = [x for x in one if x not in two][:3], [x for x in two if x not in one][:3]
            return f"{kind.spelled}: only at the source {only[0]}, only at the target {only[1]}"
    return f"{len(ours)} rows at the source, {len(theirs)} at the target"


def test_no_type_is_forgotten(databases: Any) -> None:
    """A type is tested, or PostgreSQL itself lets no column hold a value of it, or it is a row of a catalog."""
    with psycopg.connect(databases.source, autocommit=True) as connection:
        found = find(connection, databases.server.version)
        (count,) = connection.execute("SELECT count(*) FROM pg_type WHERE oid < 16384").fetchone() or (0,)
        plain = [kind for kind in found.kinds if "(" not in kind.spelled and "interval " not in kind.spelled]
        assert len(plain) + len(found.left_out) == count
        nothing = [name for name, reason in found.left_out.items() if reason == NO_INPUT and "._" not in name]
        assert [name for name in nothing if takes_values(connection, name)] == []


@WIRES
def test_random_values_of_every_type(databases: Any, wire: str, tmp_path: Path) -> None:
    rng = random.Random(f"{SEED} {wire} {databases.server.version}")
    print(f"seed {SEED}")
    replica = Replica(
        databases.source,
        databases.target,
        channel_file(tmp_path, databases.source, databases.target, capture={"format": wire} if wire == "text" else {}),
    )
    with psycopg.connect(databases.source, autocommit=True) as connection:
        kinds = fitting(find(connection, databases.server.version), wire, has_xml(connection))
        world = World(connection, kinds, rng)
        world.create()
        world.fill(5)
        replica.activate()
        check(replica, world)
        for _ in range(2):
            world.change(8)
            replica.replicate()
            check(replica, world)
    replica.check_equal()
    assert encodings(tmp_path) == ({"native", "binary"} if wire == "binary" else {"native", "text"})


def fitting(found: Found, wire: str, with_xml: bool) -> list[Kind]:
    """In one window all rows travel in one format: names of objects go with the text.

    PostgreSQL writes a & (b & c) and (a & b) & c alike: as text these are one tsquery.
    """
    return [
        replace(kind, send="%s::text") if wire == "text" and "tsquery" in kind.name else kind
        for kind in found.kinds
        if (wire == "text" or not kind.travels_as_text) and (with_xml or kind.name not in ("xml", "_xml"))
    ]


def encodings(folder: Path) -> set[str]:
    """Which ones the trail's manifests name."""
    words = ("native", "binary", "text")
    texts = [file.read_text() for file in (folder / "trail").rglob("segments/*.json")]
    return {word for word in words if any(f'"{word}"' in text for text in texts)}
