"""A channel between two fresh databases, and what happens to its source: for tests that run the whole DAG."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow_ddlrepl import flow
from airflow_ddlrepl.config.file.load import load_channel
from airflow_ddlrepl.engines.postgres.connection.connect import connect
from airflow_ddlrepl.ports.work import InProcess

CHANNEL = """
channel: {name}
source:
  location: {source}
  tables: ["public.*"]
targets:
  - name: warehouse
    location: {target}
adapt_ddl:
  - add_table_pattern: "*"
repository: sqlite:///{state}/{name}.db
trail: {state}/{name}.trail
"""

BEFORE = [
    "CREATE TABLE orders (id int PRIMARY KEY, note text)",
    "INSERT INTO orders SELECT i, 'note ' || i FROM generate_series(1, 50) i",
]
CHANGES = [
    "INSERT INTO orders VALUES (51, 'before the change')",
    "ALTER TABLE orders ADD COLUMN price numeric(10, 2)",
    "ALTER TABLE orders RENAME COLUMN note TO remark",
    "UPDATE orders SET price = id / 4.0 WHERE id % 2 = 0",
    "DELETE FROM orders WHERE id = 7",
    "CREATE TABLE customers (id int PRIMARY KEY, name text)",
    "INSERT INTO customers VALUES (1, 'Ada'), (2, NULL)",
]


REWINDS = """
rewind_horizon: {{age: 7d}}
replays:
  - name: past
    location: {past}
"""


def write_channel(
    folder: Path, state: Path, name: str, source: str, target: str, past: str = "", schedule: str = ""
) -> Path:
    """source, target and past (where rewinds go): URLs or connection ids. schedule: a cron expression."""
    path = folder / f"{name}.yaml"
    text = CHANNEL.format(name=name, source=source, target=target, state=state)
    text += REWINDS.format(past=past) if past else ""
    path.write_text(text + (f'schedule: "{schedule}"\n' if schedule else ""))
    return path


def run_sql(dsn: str, statements: list[str]) -> None:
    with connect(dsn) as connection:
        for statement in statements:
            connection.execute(statement)


def activate(channel: Path) -> None:
    with flow.RunContext(load_channel(channel), InProcess()) as run:
        flow.activate(run)


def replicate(channel: Path, run_id: str = "") -> None:
    with flow.RunContext(load_channel(channel), InProcess(), run_id) as run:
        flow.replicate(run)


def rows(dsn: str, table: str) -> list[tuple[Any, ...]]:
    """Every row with its columns' names, in the order of the key."""
    with connect(dsn) as connection:
        cursor = connection.execute(f'SELECT * FROM "{table}" ORDER BY id')
        names = tuple(column.name for column in cursor.description or ())
        return [names, *cursor.fetchall()]


def position(dsn: str) -> str:
    """Where the log stands: everything committed so far lies before it."""
    with connect(dsn) as connection:
        row = connection.execute("SELECT pg_current_wal_flush_lsn()::text").fetchone()
    assert row is not None
    return str(row[0])
