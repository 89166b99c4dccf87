"""This module does what the procedures do that add rules to a client: ADD_TABLE_RULES and the like."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.streams.calls import rule_procedures as calls
from airflow_ddlrepl.streams.condition.members import DDL, ROW
from airflow_ddlrepl.streams.condition.problems import ConditionProblem, OtherKindOfLcr
from airflow_ddlrepl.streams.condition.tree import Truth
from airflow_ddlrepl.streams.parsing.parser import Where, parse_where
from airflow_ddlrepl.streams.procedures import subset_conditions, system_conditions
from airflow_ddlrepl.streams.procedures.environment import Environment, Outgrown
from airflow_ddlrepl.streams.procedures.system_conditions import Scope
from airflow_ddlrepl.streams.rules.client import Client, ClientKind
from airflow_ddlrepl.streams.rules.rule import ROW_SUBSET, ActionContext, Rule, RuleSet

ForClient = calls.AddGlobalRules | calls.AddSchemaRules | calls.AddTableRules
ForPropagation = calls.AddGlobalPropagationRules | calls.AddSchemaPropagationRules | calls.AddTablePropagationRules
Subset = calls.AddSubsetRules | calls.AddSubsetPropagationRules


def client_of(
    call: ForClient | ForPropagation | Subset | calls.AddMessageRule | calls.AddMessagePropagationRule,
    environment: Environment,
) -> Client:
    """Return the client that a call is about; one that is not there is created."""
    if isinstance(
        call,
        calls.AddGlobalRules | calls.AddSchemaRules | calls.AddTableRules | calls.AddSubsetRules | calls.AddMessageRule,
    ):
        return environment.client(ClientKind(call.streams_type), call.streams_name, call.queue_name)
    client = environment.client(ClientKind.PROPAGATION, call.streams_name, call.source_queue_name)
    client.destination = call.destination_queue_name
    return client


def add_rules(call: ForClient | ForPropagation, environment: Environment) -> list[Rule]:
    """Make the rules for a table, a schema or everything: none, one for row changes, one for DDL, or both."""
    scope, word = _scope(call, environment)
    kind = ClientKind.PROPAGATION if isinstance(call, ForPropagation) else ClientKind(call.streams_type)
    _check(call, kind, scope)
    made = []
    for lcr, is_wanted, name in (
        (ROW, call.include_dml, call.dml_rule_name),
        (DDL, call.include_ddl, call.ddl_rule_name),
    ):
        if is_wanted:
            text, condition = _condition(call.name, scope, lcr)
            named = name or environment.made_up(word)
            made.append(Rule(named, text, condition, is_system=not scope.and_condition))
    environment.require_free(made)
    if isinstance(call, calls.AddGlobalRules):
        _require_source(call, kind, environment)
    client = client_of(call, environment)
    rules = rule_set_of(client, environment, is_positive=call.inclusion_rule)
    environment.warnings += _warnings(call, client, scope, made)
    return [_added(rule, rules, environment) for rule in made]


def _scope(call: ForClient | ForPropagation, environment: Environment) -> tuple[Scope, str]:
    """Return what a call's rules are about, and the word that made-up names begin with."""
    scope = Scope(
        is_tagged_taken=call.include_tagged_lcr,
        source=environment.case.plain(call.source_database or ""),
        and_condition=call.and_condition or "",
        case=environment.case,
    )
    if isinstance(call, calls.AddTableRules | calls.AddTablePropagationRules):
        owner, name = environment.table(call.table_name)
        return replace(scope, owner=owner, name=name), name
    if isinstance(call, calls.AddSchemaRules | calls.AddSchemaPropagationRules):
        owner = environment.name(call.schema_name)
        return replace(scope, owner=owner), owner
    return scope, "rule"


def _check(call: ForClient | ForPropagation, kind: ClientKind, scope: Scope) -> None:
    """Raise RuleError RUL-110 for what a synchronous capture can't have, before anything is made."""
    if kind is not ClientKind.SYNC_CAPTURE:
        return
    wrong = ""
    if not scope.name:
        wrong = "rules for tables alone: no schema and no global rules"
    elif call.include_ddl:
        wrong = "rules for row changes alone: set include_ddl to false"
    elif not call.inclusion_rule:
        wrong = "a positive rule set alone: set inclusion_rule to true"
    if wrong:
        raise RuleError(
            f"{call.name}: a synchronous capture has {wrong}",
            code="RUL-110",
            hint="use add_table_rules or a capture process",
        )


def _require_source(call: calls.AddGlobalRules, kind: ClientKind, environment: Environment) -> None:
    """Raise RuleError RUL-112 for a global rule without a source where changes of several databases arrive."""
    queue = environment.name(call.queue_name)
    names = (
        {environment.name(call.streams_name)}
        if call.streams_name
        else {client.name for client in environment.clients.values() if client.queue == queue}
    )
    is_downstream = kind is ClientKind.CAPTURE and bool(names & environment.downstream)
    if call.source_database is None and (is_downstream or kind is ClientKind.APPLY):
        what = f"downstream {kind.words}" if is_downstream else kind.words
        name = f" {call.streams_name}" if call.streams_name else ""
        raise RuleError(
            f"add_global_rules for {what}{name} names no source database", code="RUL-112", hint="set source_database"
        )


def _condition(procedure: str, scope: Scope, lcr: str) -> tuple[str, Truth]:
    try:
        return system_conditions.condition(scope, lcr)
    except ConditionProblem as problem:
        found = problem.located(scope.and_condition, f"and_condition of {procedure}")
        if not isinstance(problem, OtherKindOfLcr):
            raise found from None
        other = "include_ddl" if lcr == DDL else "include_dml"
        raise found.replaced(hint=f"set {other} to false: a rule for these LCRs can't call it") from None


def _warnings(call: ForClient | ForPropagation, client: Client, scope: Scope, made: list[Rule]) -> Iterator[str]:
    place = f"{call.name} for {client.words}"
    if not made:
        yield f"{place} makes no rule: an empty positive rule set discards every message"
    if client.kind is ClientKind.PROPAGATION and not scope.source and call.inclusion_rule:
        yield f"{place} names no source database: transactions of other databases could cycle"
    if not call.inclusion_rule and not call.include_tagged_lcr:
        yield f"{place}: changes with a tag escape the exclusion; set include_tagged_lcr to true"


def add_subset_rules(call: Subset, environment: Environment) -> list[Rule]:
    """Make the three rules of a subset of a table's rows, for the positive rule set."""
    owner, name = environment.table(call.table_name)
    scope = Scope(owner, name, call.include_tagged_lcr, environment.case.plain(call.source_database or ""))
    where = _where(call, f"{owner}.{name}", environment)
    made = []
    names = (call.insert_rule_name, call.update_rule_name, call.delete_rule_name)
    found = subset_conditions.conditions(replace(scope, case=environment.case), where)
    for (command, (text, condition)), rule_name in zip(found.items(), names, strict=True):
        action = ActionContext({ROW_SUBSET: command.value})
        named = rule_name or environment.made_up(name)
        made.append(Rule(named, text, condition, action=action, is_system=True))
    environment.require_free(made)
    rules = rule_set_of(client_of(call, environment), environment, is_positive=True)
    return [_added(rule, rules, environment) for rule in made]


def _where(call: Subset, table: str, environment: Environment) -> Where:
    """Return the condition of a subset; of a table that has changed since it was written, as it was before."""
    now = environment.columns.get(table)
    try:
        return parse_where(call.dml_condition, now, environment.case)
    except ConditionProblem as problem:
        found = problem.located(call.dml_condition, f"dml_condition of {call.name} for {table}")
    for columns in environment.former(table):
        with suppress(ConditionProblem):
            where = parse_where(call.dml_condition, columns, environment.case)
            environment.outgrown += [Outgrown(table, client_of(call, environment), found)] if now is not None else []
            return where
    raise found


def rule_set_of(client: Client, environment: Environment, *, is_positive: bool, has_context: bool = True) -> RuleSet:
    """Return a client's rule set; one that is not there is created."""
    found = client.positive if is_positive else client.negative
    if found is None:
        name = environment.made_up("ruleset$_")
        found = RuleSet(name) if has_context else RuleSet(name, None)
        client.attach(found, is_positive=is_positive)
        environment.add_rule_set(found)
    return found


def _added(rule: Rule, rules: RuleSet, environment: Environment) -> Rule:
    made = environment.add(rule)
    environment.put(made, rules)
    return made
