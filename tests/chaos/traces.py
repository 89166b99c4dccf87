"""What a killed run may not leave: a row too few, a row too many, anything that lies about."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import psycopg

from airflow_ddlrepl import flow
from airflow_ddlrepl.engines.postgres.log.retained_slot import held_name
from airflow_ddlrepl.ports.work import InProcess
from tests.chaos.source import SCHEMA
from tests.support.replica import Replica

TABLES = "select c.oid::regclass::text from pg_class c where relnamespace = %s::regnamespace and relkind = 'r'"
SHADOWS = "select relname from pg_class where relnamespace = 'ddlrepl'::regnamespace and relname ~ '^[rs]_'"
SLOTS = "select slot_name from pg_replication_slots where database = current_database() and slot_name <> ALL(%s)"


@dataclass
class Traces:
    """lost, twice: rows of the tables that we know; others: what else is not as it should be."""

    lost: int = 0
    twice: int = 0
    others: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.lost or self.twice or self.others)

    def __str__(self) -> str:
        rows = f"{self.lost} rows lost, {self.twice} twice"
        return "; ".join([rows, *self.others])


def look(replica: Replica, but: Collection[str] = ()) -> Traces:
    """Compare our own tables row by row, with multiplicity; then whatever lies about at source, target, trail.

    but: tables that the target does not have as they are at the source.
    """
    found = Traces()
    with psycopg.connect(replica.source) as source, psycopg.connect(replica.target) as target:
        tables = {table for (table,) in source.execute(TABLES, [SCHEMA])}
        for table in sorted(tables - set(but)):
            ours, theirs = _rows(source, table), _rows(target, table)
            found.lost += (ours - theirs).total()
            found.twice += (theirs - ours).total()
        found.others += [f"{name} is left at the target" for (name,) in target.execute(SHADOWS)]
        for table in ("chunks", "unrecorded"):
            if target.execute(f"select 1 from ddlrepl.{table} limit 1").fetchone():  # type: ignore[arg-type]
                found.others.append(f"ddlrepl.{table} is not empty")
        found.others += _repository(replica, source)
    return found


def _rows(connection: psycopg.Connection[Any], table: str) -> Counter[str]:
    """Every row as JSON; a column's place does not matter."""
    query = f"select to_jsonb(t)::text, count(*) from only {table} t group by 1"
    return Counter(dict(connection.execute(query).fetchall()))  # type: ignore[call-overload]


def _repository(replica: Replica, source: psycopg.Connection[Any]) -> list[str]:
    with flow.open_channel(replica.file, InProcess()) as run:
        name = run.channel.name
        ours = [run.channel.slot, *([held_name(run.channel.slot)] if run.channel.hold_log else [])]
        found = [f"slot {slot} is left" for (slot,) in source.execute(SLOTS, [ours])]
        found += [f"{row} is pending" for row in run.repository.pending_refreshes(name)]
        named = {b.path for s in run.trail.segments(run.epoch) for b in s.blobs()}
        orphans = [p for p in run.trail.place.walk() if re.match(r"e\d+/data/", p) and p not in named]
        folders = {path.rsplit("/", 1)[0] for path in orphans}
        if len(folders) > 1:
            found.append(f"{len(orphans)} files in {len(folders)} folders of the trail belong to no segment")
    return found
