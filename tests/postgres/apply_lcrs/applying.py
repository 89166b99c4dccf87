"""An apply client's target, and LCRs for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg

from airflow_ddlrepl.engines.abilities.lcr_target import LcrTransaction
from airflow_ddlrepl.engines.postgres.apply_lcrs.target import PostgresLcrTarget
from airflow_ddlrepl.engines.target_state import Fence
from airflow_ddlrepl.streams.messages import Command, DdlLcr, MessageClass, RowLcr

FENCE = Fence(1, 7)
Texts = Mapping[str, str | None]


@contextmanager
def lcr_target(location: str, token: int = 7) -> Iterator[PostgresLcrTarget]:
    """The database as the target `site2` of a channel, prepared by a run with this token."""
    target = PostgresLcrTarget.open(location, "hr", 5)
    target.prepare(Fence(1, token))
    try:
        yield target
    finally:
        target.close()


def insert(table: str, **new: str | None) -> RowLcr:
    return row(table, Command.INSERT, {}, new)


def update(table: str, old: Texts, new: Texts) -> RowLcr:
    return row(table, Command.UPDATE, old, new)


def delete(table: str, **old: str | None) -> RowLcr:
    return row(table, Command.DELETE, old, {})


def row(table: str, command: Command, old: Texts, new: Texts) -> RowLcr:
    owner, name = table.split(".")
    return RowLcr(owner, name, "dbs1", command=command, old=old, new=new, message_class=MessageClass.CAPTURED)


def ddl(command: str, table: str, text: str, schema: str = "hr") -> DdlLcr:
    owner, name = table.split(".")
    return DdlLcr(owner, name, "dbs1", command=command, object_type="TABLE", text=text, current_schema=schema)


def apply_rows(target: PostgresLcrTarget, rows: Iterable[RowLcr], key: Iterable[str] = ("id",)) -> None:
    """All of them in one transaction."""

    def work(transaction: LcrTransaction) -> None:
        for number, one in enumerate(rows):
            transaction.row(one, tuple(key), number)

    with target.session(FENCE) as session:
        session.run(work)


def ask(location: str, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(location) as connection:
        return connection.execute(query.encode()).fetchall()
