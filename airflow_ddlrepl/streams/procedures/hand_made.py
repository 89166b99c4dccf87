"""This module does what the procedures do that make and change rules, rule sets and clients by hand."""

from __future__ import annotations

from dataclasses import replace

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.streams.calls import administration as calls
from airflow_ddlrepl.streams.condition.problems import ConditionProblem
from airflow_ddlrepl.streams.parsing.parser import parse
from airflow_ddlrepl.streams.procedures.apply_settings import settings_of_call
from airflow_ddlrepl.streams.procedures.environment import Environment
from airflow_ddlrepl.streams.rules.apply_settings import ApplySettings
from airflow_ddlrepl.streams.rules.client import Client, ClientKind, require_no_subsets
from airflow_ddlrepl.streams.rules.rule import Rule, RuleSet, make_rule

Creating = calls.CreateCapture | calls.CreateSyncCapture | calls.CreateApply | calls.CreatePropagation
Altering = calls.AlterCapture | calls.AlterApply | calls.AlterPropagation
USER_PARAMETERS = {"capture_user": "the source", "apply_user": "its target"}
"""The parameters that name a client's user in Oracle, and whose location has that user here."""


def create_rule_set(call: calls.CreateRuleSet, environment: Environment) -> list[Rule]:
    """Make an empty rule set."""
    environment.add_rule_set(RuleSet(call.rule_set_name, environment.context(call.evaluation_context)))
    return []


def create_rule(call: calls.CreateRule, environment: Environment) -> list[Rule]:
    """Make a rule with a condition of a person's. Raises RuleError as `make_rule` does."""
    rule = make_rule(call.rule_name, call.condition, environment.context(call.evaluation_context), environment.case)
    return [environment.add(rule)]


def alter_rule(call: calls.AlterRule, environment: Environment) -> list[Rule]:
    """Give a rule another condition, in all rule sets that have it. Raises RuleError as `make_rule` does."""
    rule = environment.rule(call.rule_name)
    if call.condition is not None:
        if rule.action.subset is not None:
            hint = "drop the three rules, and call add_subset_rules again"
            raise RuleError(f"rule {rule.name} is one of a subset's three rules", code="RUL-111", hint=hint)
        try:
            condition = parse(call.condition, rule.context.variables, environment.case)
        except ConditionProblem as problem:
            raise problem.located(call.condition, f"rule {rule.name}") from None
        rule = replace(rule, text=call.condition, condition=condition, is_system=False)
        environment.change(rule)
    return [rule]


def drop_rule(call: calls.DropRule, environment: Environment) -> list[Rule]:
    """Remove a rule. Raises RuleError RUL-113 when a rule set has it, and `force` does not say to take it out there."""
    rule = environment.rule(call.rule_name)
    users = [rules for rules in environment.rule_sets.values() if rule.name in rules.rules]
    if users and not call.force:
        names = ", ".join(rules.name for rules in users)
        raise RuleError(f"rule {rule.name} is in rule set {names}", code="RUL-113", hint="set force to true")
    for rules in users:
        rules.remove(rule.name)
    del environment.rules[rule.name]
    return []


def add_rule(call: calls.AddRule, environment: Environment) -> list[Rule]:
    """Put a rule into a rule set."""
    rule = environment.rule(call.rule_name)
    environment.put(rule, environment.rule_set(call.rule_set_name))
    return [rule]


def remove_rule(call: calls.RemoveRule, environment: Environment) -> list[Rule]:
    """Take a rule out of a rule set."""
    environment.rule_set(call.rule_set_name).remove(environment.rule(call.rule_name).name)
    return []


def remove_client_rule(call: calls.RemoveRuleOfClient, environment: Environment) -> list[Rule]:
    """Take one rule, or all, out of a client's rule set; rules that nothing else has are dropped where that is said."""
    client = environment.existing_client(ClientKind(call.streams_type.lower()), call.streams_name)
    rules = client.positive if call.inclusion_rule else client.negative
    if rules is None:
        side = "positive" if call.inclusion_rule else "negative"
        raise RuleError(f"{client.words} has no {side} rule set", code="RUL-113", hint="add_rule")
    names = [environment.rule(call.rule_name).name] if call.rule_name is not None else list(rules.rules)
    for name in names:
        rules.remove(name)
        is_used = any(name in one.rules for one in environment.rule_sets.values())
        if call.drop_unused_rule and not is_used:
            environment.rules.pop(name, None)
    return []


def create_client(call: Creating, environment: Environment) -> list[Rule]:
    """Make a client with the rule sets that are named. Raises RuleError RUL-113 when there is one of its name."""
    match call:
        case calls.CreateCapture():
            kind, name, queue = ClientKind.CAPTURE, call.capture_name, call.queue_name
        case calls.CreateSyncCapture():
            kind, name, queue = ClientKind.SYNC_CAPTURE, call.capture_name, call.queue_name
        case calls.CreateApply():
            kind, name, queue = ClientKind.APPLY, call.apply_name, call.queue_name
        case calls.CreatePropagation():
            kind, name, queue = ClientKind.PROPAGATION, call.propagation_name, call.source_queue
    if (kind, environment.name(name)) in environment.clients:
        raise RuleError(f"the {kind.words} {name} is there already", code="RUL-113", hint="choose another name")
    client = Client(environment.name(name), kind, queue=environment.name(queue))
    if isinstance(call, calls.CreatePropagation):
        link = f"@{call.destination_dblink}" if call.destination_dblink else ""
        client.destination = f"{call.destination_queue}{link}"
    _attach(client, call.rule_set_name, getattr(call, "negative_rule_set_name", None), environment)
    client.require_ready()
    environment.clients[kind, client.name] = client
    _warn_of_user(call, client, environment)
    if isinstance(call, calls.CreateApply):
        database = environment.name(call.source_database) if call.source_database else ""
        environment.applying[client.name] = settings_of_call(call, ApplySettings(source_database=database))
    if isinstance(call, calls.CreateCapture):
        if call.source_database:
            environment.downstream.add(client.name)
        if client.positive is None and client.negative is None:
            environment.warnings.append(
                f"capture process {client.name} has no rule set: it captures unsupported objects, too"
            )
    return []


def alter_client(call: Altering, environment: Environment) -> list[Rule]:
    """Give a client other rule sets, or take them away."""
    match call:
        case calls.AlterCapture():
            client = environment.existing_client(ClientKind.CAPTURE, call.capture_name)
        case calls.AlterApply():
            client = environment.existing_client(ClientKind.APPLY, call.apply_name)
            found = environment.applying.get(client.name, ApplySettings())
            environment.applying[client.name] = settings_of_call(call, found)
        case calls.AlterPropagation():
            client = environment.existing_client(ClientKind.PROPAGATION, call.propagation_name)
    _warn_of_user(call, client, environment)
    _attach(client, call.rule_set_name, call.negative_rule_set_name, environment)
    if call.remove_rule_set:
        client.positive = None
    if call.remove_negative_rule_set:
        client.negative = None
    return []


def _attach(client: Client, positive: str | None, negative: str | None, environment: Environment) -> None:
    found = environment.rule_set(negative) if negative is not None else None
    if found is not None:
        require_no_subsets(found, client)
    if positive is not None:
        client.attach(environment.rule_set(positive), is_positive=True)
    if found is not None:
        client.attach(found, is_positive=False)


def _warn_of_user(call: Creating | Altering, client: Client, environment: Environment) -> None:
    for parameter in USER_PARAMETERS:
        if user := getattr(call, parameter, None):
            what = f"{parameter} {user} of {client.words} has no effect"
            environment.warnings.append(f"{what}: {user_instead(parameter)}")


def user_instead(parameter: str) -> str:
    """Return what to do in place of a parameter that names a client's user."""
    return (
        f"the client works as the user of the location of {USER_PARAMETERS[parameter]}; give that location the user"
        f" whose rights it shall have, and remove {parameter}"
    )
