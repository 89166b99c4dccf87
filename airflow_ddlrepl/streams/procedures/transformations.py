"""This module does what the procedures do that declare transformations: they belong to a rule for row changes."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.streams.calls import transformations as calls
from airflow_ddlrepl.streams.procedures.environment import Environment
from airflow_ddlrepl.streams.rules.client import ClientKind
from airflow_ddlrepl.streams.rules.rule import ARRAY_TRANSFORM_FUNCTION, TRANSFORM_FUNCTION, Rule
from airflow_ddlrepl.streams.transformations.declared import (
    AddColumn,
    Declared,
    DeleteColumn,
    KeepColumns,
    RenameColumn,
    RenameSchema,
    RenameTable,
    ValueType,
)

Declaring = (
    calls.AddColumn
    | calls.DeleteColumn
    | calls.KeepColumns
    | calls.RenameColumn
    | calls.RenameTable
    | calls.RenameSchema
)


def declare(call: Declaring, environment: Environment) -> list[Rule]:
    """Add a declarative transformation to a rule, or remove it.

    Raises RuleError RUL-120 for a rule that is not for row changes, RUL-123 when what is to be removed isn't there.
    """
    rule = environment.rule(call.rule_name)
    if rule.variables and rule.variables != {"dml"}:
        what = "DDL" if "ddl" in rule.variables else "user messages"
        raise RuleError(
            f"{call.name}: rule {rule.name} is for {what}, and transforms no row LCRs",
            code="RUL-120",
            hint="name a rule for row changes; set_rule_transform_function takes every kind",
        )
    declared = _declared(call, environment)
    action = rule.action
    if call.operation == "ADD":
        changed = replace(action, declared=(*action.declared, declared))
    elif declared in action.declared:
        changed = replace(action, declared=tuple(one for one in action.declared if one != declared))
    else:
        hint = f"it has {len(action.declared)} transformations: remove one with the parameters that it was added with"
        raise RuleError(f"{call.name}: rule {rule.name} does not have this transformation", code="RUL-123", hint=hint)
    made = replace(rule, action=changed)
    environment.change(made)
    return [made]


def _declared(call: Declaring, environment: Environment) -> Declared:
    """Return a call's transformation, with names as the database spells them."""
    name, step = environment.name, call.step_number
    match call:
        case calls.AddColumn():
            if call.column_function:
                hint = "set column_value; the time of a change is {commit_time} in target_tables"
                what = (
                    f"add_column: column_function {call.column_function} gives another value when a change comes again"
                )
                raise RuleError(what, code="RUL-124", hint=hint)
            table, column = _table(call.table_name, environment), name(call.column_name)
            return AddColumn(table, column, _value(call.column_value), ValueType(call.value_type), step=step)
        case calls.DeleteColumn():
            table = _table(call.table_name, environment)
            return DeleteColumn(table, name(call.column_name), ValueType(call.value_type), step=step)
        case calls.KeepColumns():
            listed = call.column_list.split(",") if isinstance(call.column_list, str) else call.column_list
            columns = tuple(name(one) for one in listed)
            return KeepColumns(_table(call.table_name, environment), columns, ValueType(call.value_type), step=step)
        case calls.RenameColumn():
            table, column = _table(call.table_name, environment), name(call.from_column_name)
            return RenameColumn(table, column, name(call.to_column_name), ValueType(call.value_type), step=step)
        case calls.RenameTable():
            return RenameTable(
                _table(call.from_table_name, environment), _table(call.to_table_name, environment), step=step
            )
    return RenameSchema(name(call.from_schema_name), name(call.to_schema_name), step=step)


def _table(text: str, environment: Environment) -> str:
    return ".".join(environment.table(text))


def _value(value: Any) -> Any:
    return Decimal(repr(value)) if isinstance(value, int | float) and not isinstance(value, bool) else value


def set_function(call: calls.SetRuleTransformFunction, environment: Environment) -> list[Rule]:
    """Give a rule a function that transforms messages, or take it away.

    Raises RuleError RUL-125 for one that gives many messages where a client other than a capture uses the rule.
    """
    rule = environment.rule(call.rule_name)
    if call.is_array and call.transform_function:
        for client in environment.clients.values():
            is_user = client.positive is not None and rule.name in client.positive.rules
            if is_user and client.kind not in (ClientKind.CAPTURE, ClientKind.SYNC_CAPTURE):
                raise RuleError(
                    f"rule {rule.name} is used by {client.words}, which takes one message for one",
                    code="RUL-125",
                    hint="transform into many messages at a capture",
                )
    pairs = {k: v for k, v in rule.action.pairs.items() if k not in (TRANSFORM_FUNCTION, ARRAY_TRANSFORM_FUNCTION)}
    if call.transform_function:
        pairs[ARRAY_TRANSFORM_FUNCTION if call.is_array else TRANSFORM_FUNCTION] = call.transform_function
    made = replace(rule, action=replace(rule.action, pairs=pairs))
    environment.change(made)
    return [made]
