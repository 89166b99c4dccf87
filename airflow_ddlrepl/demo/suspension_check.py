"""Check that one bad table stops no other: the target refuses the rows of one, and takes them a cycle later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from airflow_ddlrepl.demo.airflow_run import DagRunResult
from airflow_ddlrepl.engines.postgres.connection.connect import connect

REFUSED, OTHER = "public.slot_pool", "public.log"
_REFUSE = "ALTER TABLE slot_pool ADD CONSTRAINT demo_refuses CHECK (description <> 'refused') NOT VALID"
_ACCEPT = "ALTER TABLE slot_pool DROP CONSTRAINT demo_refuses"
_ROWS = (
    "INSERT INTO slot_pool (pool, slots, description, include_deferred) VALUES ('suspended', 1, 'refused', false)",
    "INSERT INTO log (event) VALUES ('suspended')",
)


@dataclass(frozen=True)
class SuspensionCheck:
    """A suspension check says what a cycle said of a refused table, and what was not as it should be."""

    said: str
    differences: tuple[str, ...] = ()

    def line(self) -> str:
        """Return the check as one line of text."""
        return f"{REFUSED}, while {OTHER} went on; caught up a cycle later"


def check_suspension(source: str, target: str, replicate_once: Callable[[], DagRunResult]) -> SuspensionCheck:
    """Let the target refuse rows of one table in one cycle, and accept them in the next. source, target: URLs."""
    _run(target, _REFUSE)
    _run(source, *_ROWS)
    first = replicate_once()
    said = "; ".join(map(str, first.failures.values()))
    wrong = (
        [] if not first.succeeded and REFUSED in said else [f"a cycle with a refused row did not fail by it: {said}"]
    )
    wrong += [] if _count(target, "log", "event") else [f"{OTHER} did not go on without {REFUSED}"]
    _run(target, _ACCEPT)
    second = replicate_once()
    wrong += [] if second.succeeded else ["; ".join(map(str, second.failures.values()))]
    wrong += [] if _count(target, "slot_pool", "pool") else [f"{REFUSED} has not got its row"]
    return SuspensionCheck(said, tuple(wrong))


def _run(dsn: str, *statements: str) -> None:
    with connect(dsn, application_name="demo") as connection:
        for statement in statements:
            connection.execute(statement.encode())


def _count(dsn: str, table: str, column: str) -> int:
    with connect(dsn, application_name="demo") as connection:
        row = connection.execute(f"SELECT count(*) FROM {table} WHERE {column} = 'suspended'".encode()).fetchone()
    return int(row[0]) if row else 0
