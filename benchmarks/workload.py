"""The workload: half inserts, a third updates, the rest deletes, 100 row changes per transaction, made by the server.

Transaction t inserts a block of 50 rows, updates 33 rows of an earlier block and deletes the last 17 rows of the
block before. Every change hits exactly one row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.engines.postgres.connection.quoting import literal, quote
from airflow_ddlrepl.model.position import Position

INSERTS, UPDATES, DELETES = 50, 33, 17
CHANGES = INSERTS + UPDATES + DELETES


@dataclass(frozen=True)
class Kind:
    """A table of the benchmark: name, columns after the key (name, type, value from the row's number i)."""

    name: str
    columns: tuple[tuple[str, str, str], ...]

    @property
    def create(self) -> str:
        body = ", ".join(f"{name} {type_}" for name, type_, _ in self.columns)
        return f"CREATE TABLE public.{quote(self.name)} (id bigint PRIMARY KEY, {body})"

    def insert(self, low: str, high: str) -> str:
        """Rows with the numbers low to high, both SQL expressions, both included."""
        return f"INSERT INTO public.{quote(self.name)} {self.select(low, high)}"

    def select(self, low: str, high: str) -> str:
        """The rows of `insert`."""
        values = ", ".join(value for _, _, value in self.columns)
        return f"SELECT i, {values} FROM generate_series({low}, {high}) AS i"


NARROW = Kind(
    "narrow",
    (
        ("account", "integer", "(i % 100000)::int"),
        ("amount", "numeric(12,2)", "(i % 1000000)::numeric / 100"),
        ("state", "text", "'state ' || i % 7"),
        ("changed", "timestamptz", "'2026-11-21 08:00:00+00'::timestamptz + i * interval '1 ms'"),
        ("note", "text", "'note of row ' || i"),
    ),
)
WIDE = Kind(
    "wide",
    (
        *NARROW.columns,
        *((f"n{k}", "integer", f"((i * {k}) % 1000003)::int") for k in (3, 5, 7)),
        *((f"b{k}", "bigint", f"i * {k}") for k in (11, 13)),
        *((f"d{k}", "numeric(14,4)", f"((i * {k}) % 100000000)::numeric / 10000") for k in (17, 19)),
        *((f"t{k}", "text", f"'text {k} of ' || i") for k in (1, 2, 3)),
        ("f", "double precision", "i / 7.0"),
        ("ok", "boolean", "i % 2 = 0"),
        ("day", "date", "'2020-01-01'::date + (i % 2000)::int"),
        ("at", "timestamp", "'2020-01-01'::timestamp + i * interval '1 s'"),
    ),
)
KINDS = {kind.name: kind for kind in (NARROW, WIDE)}

PROCEDURE = """
CREATE OR REPLACE PROCEDURE public.load_{name}(start bigint, transactions int) LANGUAGE plpgsql AS $body$
DECLARE
  base bigint;
  old bigint;
BEGIN
  FOR t IN 0 .. transactions - 1 LOOP
    base := start + t * {inserts};
    {insert};
    IF t > 0 THEN
      old := start + (abs(hashint4(t)::bigint) % t) * {inserts};
      UPDATE public.{name} SET amount = amount + 1, note = 'updated in ' || t
      WHERE id BETWEEN old + 1 AND old + {updates};
      DELETE FROM public.{name} WHERE id BETWEEN base - {deletes} + 1 AND base;
    END IF;
    COMMIT;
  END LOOP;
END $body$
"""


def procedure(kind: Kind) -> str:
    """The procedure that makes the changes of one kind."""
    insert = kind.insert("base + 1", f"base + {INSERTS}")
    return PROCEDURE.format(name=kind.name, insert=insert, inserts=INSERTS, updates=UPDATES, deletes=DELETES)


def prepare(dsn: str, kind: Kind) -> None:
    """Makes the table and its generator."""
    with connect(dsn) as connection:
        connection.execute(kind.create.encode())
        connection.execute(procedure(kind).encode())


def run_procedure(dsn: str, kind: Kind, body: str, old: int, new: int, transactions: int) -> None:
    """Runs `body` in so many transactions; it sees `t`, `transactions`, `old`, `new` and NAME_rows(low, high)."""
    name = kind.name
    loop = f"FOR t IN 0 .. transactions - 1 LOOP {body} COMMIT; END LOOP"
    with connect(dsn) as connection:
        connection.execute(
            f"CREATE OR REPLACE FUNCTION public.{name}_rows(low bigint, high bigint) RETURNS SETOF public.{name}"
            f" LANGUAGE sql AS $$ {kind.select('low', 'high')} $$;"
            f"CREATE OR REPLACE PROCEDURE public.{name}_keys(old bigint, new bigint, transactions int)"
            f" LANGUAGE plpgsql AS $$ BEGIN {loop}; END $$".encode()
        )
        connection.execute(f"CALL public.{name}_keys({old}, {new}, {transactions})".encode())


def fill(dsn: str, kind: Kind, rows: int) -> None:
    """Rows in one go, for a refresh."""
    with connect(dsn) as connection:
        connection.execute(kind.insert("1", str(rows)).encode())
        connection.execute(f"VACUUM ANALYZE public.{quote(kind.name)}".encode())


def change(dsn: str, kind: Kind, changes: int, run: int) -> tuple[int, Position]:
    """Makes about that many row changes, numbered so that run after run is new. Returns how many, and the log's end."""
    transactions = max(2, changes // CHANGES)
    with connect(dsn) as connection:
        connection.execute(f"CALL public.load_{kind.name}({run * 10**9}, {transactions})".encode())
        done = transactions * CHANGES - UPDATES - DELETES
        return done, log_end(connection)


def mark(dsn: str, kind: Kind, number: int) -> Position:
    """A row whose arrival tells that everything before it has arrived."""
    with connect(dsn) as connection:
        connection.execute(kind.insert(str(-number), str(-number)).encode())
        return log_end(connection)


def has_mark(connection: Any, kind: Kind, number: int) -> bool:
    query = f"SELECT 1 FROM public.{quote(kind.name)} WHERE id = {literal(str(-number))}::bigint"
    return connection.execute(query.encode()).fetchone() is not None


def log_end(connection: Any) -> Position:
    row = connection.execute(b"SELECT pg_current_wal_flush_lsn()::text").fetchone()
    return Position.parse(row[0])
