"""This module evaluates rules, for all callers: whether a client takes a kind of change of a table, and if not, why."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum

from airflow_ddlrepl.config.sections.channel_at import ChannelAt
from airflow_ddlrepl.config.sections.places import Rule, RuleSets
from airflow_ddlrepl.config.sections.scope import Joining, Scope
from airflow_ddlrepl.goldengate.parameters.mapping import target_of
from airflow_ddlrepl.goldengate.parameters.replicat import NO_FURTHER_TARGET
from airflow_ddlrepl.model.names import TableName
from airflow_ddlrepl.model.table import Table
from airflow_ddlrepl.notation.name_pattern import any_matches, matches, matches_new_table, split_table_pattern
from airflow_ddlrepl.scope.client import Client, client_at

SYSTEM_SCHEMA = re.compile(r"pg_.*|information_schema|ddlrepl", re.DOTALL)


class ChangeKind(StrEnum):
    """A kind of change is what rules treat separately: rows, schema changes, whole tables and new tables.

    DML: inserts, updates and deletes. DDL: schema changes, creation and TRUNCATE. TABLE: the client has the table at
    all, because it takes some change of it, or enrolls it at activation. NEW_TABLE: a table is created later, or gets
    this name, and the client has it from then on.
    """

    DML = "dml"
    DDL = "ddl"
    TABLE = "table"
    NEW_TABLE = "new table"


class Reason(Enum):
    """A reason is why a change is taken or not: TAKEN, or the first thing that is against it."""

    TAKEN = "taken"
    EXCLUDED = "the channel excludes the table by name"
    SYSTEM = "the table is in a system schema, or in the schema ddlrepl"
    NOT_NAMED = "no pattern of the channel matches the table"
    NOT_MAPPED = "no MAP of the target's replicat lists the table"
    NO_FURTHER_TARGET = NO_FURTHER_TARGET
    NEGATIVE_RULE = "a negative rule discards the change"
    NO_POSITIVE_RULE = "there are positive rules, and none matches the change"


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision says whether a change is taken.

    why: the reason in words, with the name of the rule; empty when it is taken.
    """

    reason: Reason = Reason.TAKEN
    why: str = ""

    @property
    def is_taken(self) -> bool:
        """Does the client take the change?"""
        return self.reason is Reason.TAKEN

    @property
    def is_elsewhere(self) -> bool:
        """Is the client for further TARGETs of tables, and has this table none? Others take what it does not take."""
        return self.reason is Reason.NO_FURTHER_TARGET

    @property
    def is_excluded(self) -> bool:
        """Is the table excluded by its name, whatever else would have the client take it?"""
        return self.reason is Reason.EXCLUDED


TAKEN = Decision()


def decide(client: Client, table: TableName, change: ChangeKind) -> Decision:
    """Decide whether the client takes this kind of change of the table, which has this name at the source.

    The client's scope comes first, then its MAP parameters, then its rule sets. A change that is not taken does nothing
    at the client, whatever policies say.
    """
    if client.scope is not None and (reason := _in_scope(client.scope, table, change)) is not Reason.TAKEN:
        return Decision(reason, reason.value)
    if client.replicat is not None and target_of(table, client.replicat) is None:
        reason = Reason.NO_FURTHER_TARGET if client.replicat.is_further else Reason.NOT_MAPPED
        return Decision(reason, reason.value)
    if change in (ChangeKind.DML, ChangeKind.DDL):
        return _by_rules(client.rules, table, change)
    decisions = [_by_rules(client.rules, table, kind) for kind in (ChangeKind.DML, ChangeKind.DDL)]
    return next((one for one in decisions if one.is_taken), decisions[0])


def taken_tables(at: ChannelAt, tables: Iterable[Table]) -> list[Table]:
    """Return those of the source's tables that a target or replay has, because it takes some change of them."""
    client = client_at(at)
    return [table for table in tables if decide(client, table.name, ChangeKind.TABLE).is_taken]


def _by_rules(rules: RuleSets, table: TableName, change: ChangeKind) -> Decision:
    """Decide by the rule sets.

    A change is taken when no negative rule is true and, where there is a positive set, one of its rules is.
    """
    against = _first_true(rules.negative or (), table, change)
    if against is not None:
        return Decision(Reason.NEGATIVE_RULE, f"rules.negative[{against}] discards its {change.upper()}")
    if rules.positive is not None and _first_true(rules.positive, table, change) is None:
        return Decision(Reason.NO_POSITIVE_RULE, f"rules.positive has none for its {change.upper()}")
    return TAKEN


def _first_true(rules: Sequence[Rule], table: TableName, change: ChangeKind) -> int | None:
    return next((number for number, rule in enumerate(rules) if _is_true(rule, table, change)), None)


def _is_true(rule: Rule, table: TableName, change: ChangeKind) -> bool:
    return (rule.dml if change is ChangeKind.DML else rule.ddl) and any_matches(rule.tables, table)


def _in_scope(scope: Scope, table: TableName, change: ChangeKind) -> Reason:
    if any_matches(scope.exclude, table):
        return Reason.EXCLUDED
    if SYSTEM_SCHEMA.fullmatch(table.schema):
        return Reason.SYSTEM
    is_there = change is not ChangeKind.NEW_TABLE and any_matches(scope.tables, table)
    return Reason.TAKEN if is_there or (change is not ChangeKind.TABLE and _joins(scope, table)) else Reason.NOT_NAMED


def _joins(scope: Scope, table: TableName) -> bool:
    """Does a table that is created, or renamed to this, join the channel?"""
    is_replayed = any_matches(scope.replayed, table) and any_matches(scope.tables, table)
    return is_replayed or any(_matches(rule, scope, table) for rule in scope.joining)


def _matches(rule: Joining, scope: Scope, table: TableName) -> bool:
    if not matches_new_table(table, rule.pattern, rule.ignore, rule.schema):
        return False
    return rule.schema is not None or any(matches(split_table_pattern(p)[0], table.schema) for p in scope.tables)
