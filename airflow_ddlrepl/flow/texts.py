"""Texts: what the plan of a table in `replay_ddl` must know of the statement, its tables and the target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from airflow_ddlrepl.adapt.facts import TargetFacts
from airflow_ddlrepl.adapt.plan import target_shape
from airflow_ddlrepl.adapt.policy import policy_at
from airflow_ddlrepl.adapt.replayed import Statement, replayed
from airflow_ddlrepl.adapt.steps import TablePlan
from airflow_ddlrepl.adapt.timeline import Standing
from airflow_ddlrepl.config.channel import Channel
from airflow_ddlrepl.ddl import casts
from airflow_ddlrepl.ddl.conversion import Conversion, computed
from airflow_ddlrepl.ddl.lexer import tokens
from airflow_ddlrepl.ddl.statement import Evidence
from airflow_ddlrepl.engines.postgres.ddl import PostgresDdl
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.flow.properties import ShapeAt
from airflow_ddlrepl.model.change import Event
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.position import LogKey
from airflow_ddlrepl.model.table import Table

_NUMBERS = (casts.INT2, casts.INT4, casts.INT8, casts.NUMERIC)


def with_text(
    found: TablePlan,
    channel: Channel,
    target: str,
    before: Standing | None,
    new: Table | None,
    event: Event,
    facts: TargetFacts,
    shape_at: ShapeAt,
    standings: Mapping[int, Standing],
) -> TablePlan:
    """The same plan, but that the source's text runs. facts: as the plan was made with, and what the target said."""
    names = _names(event, shape_at)
    table_id = new.id if new else before.table_id if before else 0
    source_before = _before(table_id, event, shape_at)
    statement = Statement(
        event,
        source_before,
        new,
        before.shape if before else None,
        target_shape(source_before, facts=replace(facts, name_after=facts.name_before)) if source_before else None,
        names,
        tuple(name for i, name in names.items() if not _is_replayed(channel, target, i, event, shape_at)),
        tuple(name for i, name in names.items() if i in standings and standings[i].has(event.key.lsn, event.xid)),
        facts.refusal,
        facts.existing is not None or facts.occupant is not None,
    )
    return replayed(found, statement, PostgresDdl(facts.server_version))


def _is_replayed(channel: Channel, target: str, table_id: int, event: Event, shape_at: ShapeAt) -> bool:
    """A table of another channel is not."""
    before = _before(table_id, event, shape_at)
    known = shape_at(table_id, event.key) or before
    if known is None:
        return False
    policy = policy_at(channel, target, known.name, (before or known).name)
    return policy.replays and policy.adapts


def _names(event: Event, shape_at: ShapeAt) -> Mapping[int, TableName]:
    """What the tables of a statement were called before it; a new one as it is called."""
    known = {table.id: _before(table.id, event, shape_at) or table for table in event.tables}
    return {**dict(event.dropped), **{i: table.name for i, table in known.items()}}


def _before(table_id: int, event: Event, shape_at: ShapeAt) -> Table | None:
    return shape_at(table_id, LogKey(event.key.lsn, event.key.seq - 1))


def arithmetic(known: Evidence, before: Table | None) -> Evidence:
    """Values that a USING clause computes from numbers come out at the target as they did at the source."""
    path = {token.text for token in tokens(str(known.settings.get("search_path") or ""))}
    if before is None or known.statement is None or "pg_catalog" in path:  # operators of the user's may come first
        return known
    plain = frozenset(c.name for c in before.columns if c.type.oid in _NUMBERS)
    same = computed(known.statement, plain) & known.conversions.keys()
    return replace(known, conversions={**known.conversions, **dict.fromkeys(same, Conversion.ASSIGN)})


def require_one_way(channel: Channel, tables: Iterable[Table]) -> None:
    """Raises Unsupported ADP-152 where a partition is replayed and its partitioned table is not, or the other way."""
    by_id = {table.id: table for table in tables}
    for table in by_id.values() if channel.replay_ddl else ():
        parent = by_id.get(table.partition.of) if table.partition else None
        if parent is not None and channel.replays_text(table.name) != channel.replays_text(parent.name):
            raise Unsupported(
                f"of {parent.name} and its partition {table.name} only one is in replay_ddl: a statement is about both",
                code="ADP-152",
                table=table.name,
                hint="write a pattern in `tables` (or `exclude`) of replay_ddl that matches both",
            )
