"""To replay a statement's text (`replay_ddl`), a table's plan must know the statement, its tables and the target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from airflow_ddlrepl.adapt.plan.ddl_replay import Mapped, Statement
from airflow_ddlrepl.adapt.plan.plan import target_shape
from airflow_ddlrepl.adapt.plan.without_table import run_without_table
from airflow_ddlrepl.adapt.plan_model import TablePlan
from airflow_ddlrepl.adapt.policy import policy_at
from airflow_ddlrepl.adapt.target_facts import Refusal, Renderer, TargetFacts
from airflow_ddlrepl.config.sections.channel import Channel
from airflow_ddlrepl.config.sections.channel_at import ChannelAt
from airflow_ddlrepl.config.sections.ddl_replay import runs_expressions
from airflow_ddlrepl.ddl.sql.statement_code import Code
from airflow_ddlrepl.errors import Unsupported
from airflow_ddlrepl.flow.apply.replicat import TargetReplicat
from airflow_ddlrepl.flow.mapping.tableless import subject_of
from airflow_ddlrepl.flow.mapping.tables import ShapeAt, seen_at, shape_before
from airflow_ddlrepl.goldengate.record import Record
from airflow_ddlrepl.model.change import Event, why_ignored
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.model.table_state import TableState
from airflow_ddlrepl.sql.spelling import spell


@dataclass(frozen=True, slots=True)
class Texts:
    """`Texts` makes the statements of one target whose text is to run.

    table_states: the channel's tables there, as they are before the statement. replicat: what maps the statements;
    None: they run as they are.
    """

    at: ChannelAt
    shape_at: ShapeAt
    table_states: Mapping[int, TableState]
    replicat: TargetReplicat | None = None

    def statement(
        self, before: TableState | None, new: Table | None, event: Event, facts: TargetFacts, refusal: Refusal | None
    ) -> Statement:
        """Return one table's part of a statement whose text is to run. refusal: the target has refused it."""
        names = self._names(event)
        table_id = new.id if new else before.table_id if before else 0
        source_before = shape_before(self.shape_at, table_id, event)
        was = replace(facts, name_after=facts.name_before)
        return Statement(
            event,
            source_before,
            new,
            before.shape if before else None,
            target_shape(seen_at(self.at, source_before, lenient=True), facts=was) if source_before else None,
            names,
            tuple(name for i, name in names.items() if not self._is_replayed(i, event)),
            tuple(name for i, name in names.items() if self._is_loaded(i, event)),
            refusal,
            facts.existing is not None or facts.occupant is not None,
            self._mapped(event, names),
            self._may_call(names),
        )

    def without_tables(self, event: Event, refusal: Refusal | None) -> Statement:
        """Return a statement about tables that the target does not have. refusal: the target has refused it."""
        names = self._names(event)
        mapped = self._mapped(event, names)
        return Statement(event, names=names, refusal=refusal, mapped=mapped, may_call=self._may_call(names))

    def _may_call(self, names: Mapping[int, TableName]) -> bool:
        """May the expressions of a statement on these tables call whatever they call?"""
        if self.replicat is not None:
            return Code.EXPRESSION in self.replicat.parameters.code
        return all(runs_expressions(self.at.channel.replay_ddl, name) for name in names.values())

    def _mapped(self, event: Event, names: Mapping[int, TableName]) -> Mapped | None:
        """Return the statement as Replicat has made it. names: at the source, before it."""
        found = self.replicat.statement(event) if self.replicat is not None else None
        if found is None:
            return None
        there = [self.table_states[i].name for i in names if i in self.table_states]
        fresh = (name for i, name in names.items() if i not in self.table_states)
        joining = [self.at.target_name(name) for name in fresh]
        after = {self.at.target_name(table.name).schema for table in event.tables}
        after |= _made_in(found.record)
        own, path = found.record.session_schema, event.schema_path
        first = spell(own) if own else ""
        path = ", ".join(filter(None, (first, path)))
        return Mapped(found.record.text, frozenset([*there, *joining]), tuple(sorted(after)), path)

    def _names(self, event: Event) -> Mapping[int, TableName]:
        """Return the names that the tables of a statement had before it; of a new one, the name that it has."""
        known = {table.id: shape_before(self.shape_at, table.id, event) or table for table in event.tables}
        return {**dict(event.dropped), **{i: table.name for i, table in known.items()}}

    def _is_replayed(self, table_id: int, event: Event) -> bool:
        """Does the target replay statements on this table? It does not for a table of another channel."""
        before = shape_before(self.shape_at, table_id, event)
        known = self.shape_at(table_id, event.key) or before
        if known is None:
            return False
        policy = policy_at(self.at, known.name, (before or known).name, why_ignored(event))
        return policy.replays and policy.adapts

    def _is_loaded(self, table_id: int, event: Event) -> bool:
        """Has a refresh brought the statement's transaction?"""
        table_state = self.table_states.get(table_id)
        return table_state is not None and table_state.has(event.key.lsn, event.transaction_id)


def without_table(texts: Texts, event: Event, refusal: Refusal | None, renderer: Renderer) -> TablePlan:
    """Return the plan of a statement about no table of the channel, which is for a Replicat alone."""
    code = texts.replicat.parameters.code if texts.replicat is not None else ()
    name = subject_of(event).base or TableName(event.tag, "-")
    return run_without_table(name, texts.without_tables(event, refusal), code, renderer)


def _made_in(record: Record) -> set[str]:
    """Return the schema in which a statement makes something other than a schema; empty: it makes nothing."""
    makes = record.operation == "CREATE" and record.object_type != "SCHEMA"
    return {record.base.schema} if makes and record.base is not None else set()


def require_one_way(channel: Channel, tables: Iterable[Table]) -> None:
    """Raise Unsupported ADP-152 where a partition is replayed and its partitioned table is not, or the other way."""
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
