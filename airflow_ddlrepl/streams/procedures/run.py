"""This module runs calls of procedures of Oracle Streams in an environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from airflow_ddlrepl.streams.calls import administration, apply_procedures, rule_procedures, transformations
from airflow_ddlrepl.streams.calls.procedure import Procedure
from airflow_ddlrepl.streams.calls.section import StreamsParameters
from airflow_ddlrepl.streams.condition.kinds import Kind
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.procedures.add_rules import add_rules, add_subset_rules
from airflow_ddlrepl.streams.procedures.apply_settings import (
    set_dml_handler,
    set_enqueue_destination,
    set_execute,
    set_instantiation,
    set_parameter,
)
from airflow_ddlrepl.streams.procedures.environment import Columns, Environment, Former
from airflow_ddlrepl.streams.procedures.hand_made import (
    add_rule,
    alter_client,
    alter_rule,
    create_client,
    create_rule,
    create_rule_set,
    drop_rule,
    remove_client_rule,
    remove_rule,
)
from airflow_ddlrepl.streams.procedures.message_rules import add_message_rule
from airflow_ddlrepl.streams.procedures.transformations import declare, set_function
from airflow_ddlrepl.streams.rules.rule import Rule

_RUN: dict[type[Procedure], Callable[[Any, Environment], list[Rule]]] = {
    rule_procedures.AddGlobalRules: add_rules,
    rule_procedures.AddSchemaRules: add_rules,
    rule_procedures.AddTableRules: add_rules,
    rule_procedures.AddSubsetRules: add_subset_rules,
    rule_procedures.AddMessageRule: add_message_rule,
    rule_procedures.AddGlobalPropagationRules: add_rules,
    rule_procedures.AddSchemaPropagationRules: add_rules,
    rule_procedures.AddTablePropagationRules: add_rules,
    rule_procedures.AddSubsetPropagationRules: add_subset_rules,
    rule_procedures.AddMessagePropagationRule: add_message_rule,
    administration.CreateRuleSet: create_rule_set,
    administration.CreateRule: create_rule,
    administration.AlterRule: alter_rule,
    administration.DropRule: drop_rule,
    administration.AddRule: add_rule,
    administration.RemoveRule: remove_rule,
    administration.RemoveRuleOfClient: remove_client_rule,
    administration.CreateCapture: create_client,
    administration.CreateSyncCapture: create_client,
    administration.CreateApply: create_client,
    administration.CreatePropagation: create_client,
    administration.AlterCapture: alter_client,
    administration.AlterApply: alter_client,
    administration.AlterPropagation: alter_client,
    apply_procedures.SetDmlHandler: set_dml_handler,
    apply_procedures.SetApplyParameter: set_parameter,
    apply_procedures.SetEnqueueDestination: set_enqueue_destination,
    apply_procedures.SetExecute: set_execute,
    apply_procedures.SetTableInstantiationScn: set_instantiation,
    apply_procedures.SetSchemaInstantiationScn: set_instantiation,
    apply_procedures.SetGlobalInstantiationScn: set_instantiation,
    transformations.AddColumn: declare,
    transformations.DeleteColumn: declare,
    transformations.KeepColumns: declare,
    transformations.RenameColumn: declare,
    transformations.RenameTable: declare,
    transformations.RenameSchema: declare,
    transformations.SetRuleTransformFunction: set_function,
}


def run(call: Procedure, environment: Environment) -> list[Rule]:
    """Do what a call of a procedure does. Return the rules that it makes or changes. Raises RuleError (RUL-…)."""
    return _RUN[type(call)](call, environment)


def environment_of(
    parameters: StreamsParameters,
    case: NameCase = NameCase.UPPER,
    columns: Mapping[str, Columns] | None = None,
    former: Former = lambda _: (),
) -> Environment:
    """Return the environment that a section's calls make. Raises RuleError (RUL-…) as the calls do.

    columns, former: of tables now, and before, as an `Environment` has them.
    """
    types = {
        type: {case.one(name): Kind(kind) for name, kind in fields.items()}
        for type, fields in parameters.message_types.items()
    }
    environment = Environment(case, columns, types, former)
    for call in parameters.calls:
        run(call, environment)
    return environment
