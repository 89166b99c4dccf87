"""This module does what the procedures do that say how an apply process works."""

from __future__ import annotations

from dataclasses import replace

from airflow_ddlrepl.errors import ConfigError, RuleError
from airflow_ddlrepl.model.position import Position
from airflow_ddlrepl.streams.calls import administration
from airflow_ddlrepl.streams.calls import apply_procedures as calls
from airflow_ddlrepl.streams.procedures.environment import Environment
from airflow_ddlrepl.streams.rules.apply_settings import ENQUEUE, EXECUTE, ApplySettings, DmlHandler, Instantiation
from airflow_ddlrepl.streams.rules.client import ClientKind
from airflow_ddlrepl.streams.rules.rule import Rule

Instantiating = calls.SetTableInstantiationScn | calls.SetSchemaInstantiationScn | calls.SetGlobalInstantiationScn
_PARAMETERS = frozenset(("disable_on_error", "parallelism"))


def set_dml_handler(call: calls.SetDmlHandler, environment: Environment) -> list[Rule]:
    """Give a table's row LCRs a handler, or take it away. Raises RuleError RUL-113 for an unknown apply process."""
    owner, name = environment.table(call.object_name)
    client = environment.existing_client(ClientKind.APPLY, call.apply_name).name if call.apply_name else ""
    if call.operation_name == "LOB_UPDATE":  # values are whole: there are no pieces of one
        return []
    made = DmlHandler(owner, name, call.operation_name, call.user_procedure or "", call.error_handler, client)
    others = [one for one in environment.dml_handlers if replace(one, function=made.function) != made]
    environment.dml_handlers = [*others, made] if made.function else others
    return []


def set_parameter(call: calls.SetApplyParameter, environment: Environment) -> list[Rule]:
    """Set a parameter of an apply process. Raises RuleError RUL-113 for an unknown one, RUL-145 for a wrong value."""
    client = environment.existing_client(ClientKind.APPLY, call.apply_name)
    name = call.parameter.lower()
    if name not in _PARAMETERS:
        environment.warnings.append(f"the parameter {name} of apply process {client.name} has no effect here")
        return []
    found = environment.apply_settings(client.name)
    parameters = {one: value for one, value in found.parameters.items() if one != name}
    if call.value is not None:
        parameters[name] = call.value.strip()
    made = replace(found, parameters=parameters)
    if name == "disable_on_error" and parameters.get(name, "Y").upper() not in ("Y", "N"):
        raise RuleError(f"disable_on_error {call.value} is neither Y nor N", code="RUL-145", hint="write Y or N")
    _ = made.parallelism
    environment.applying[client.name] = made
    return []


def set_enqueue_destination(call: calls.SetEnqueueDestination, environment: Environment) -> list[Rule]:
    """Let a rule's messages go to a queue, or take that away."""
    queue = environment.name(call.destination_queue_name) if call.destination_queue_name else None
    return [_with_pair(environment, call.rule_name, ENQUEUE, queue)]


def set_execute(call: calls.SetExecute, environment: Environment) -> list[Rule]:
    """Let a rule's messages be applied, or not."""
    return [_with_pair(environment, call.rule_name, EXECUTE, None if call.execute else "NO")]


def _with_pair(environment: Environment, rule_name: str, name: str, value: str | None) -> Rule:
    rule = environment.rule(rule_name)
    pairs = {key: known for key, known in rule.action.pairs.items() if key != name}
    if value is not None:
        pairs[name] = value
    made = replace(rule, action=replace(rule.action, pairs=pairs))
    environment.change(made)
    return made


def set_instantiation(call: Instantiating, environment: Environment) -> list[Rule]:
    """Say which changes a target has already, of a table, a schema or a database."""
    database, of_rows, of_ddl = environment.name(call.source_database_name), True, True
    match call:
        case calls.SetTableInstantiationScn():
            owner, name = environment.table(call.source_object_name)
        case calls.SetSchemaInstantiationScn():
            owner, name, of_rows = environment.name(call.source_schema_name), "", call.recursive
        case calls.SetGlobalInstantiationScn():
            owner, name, of_rows = "", "", call.recursive
    others = [
        one for one in environment.applied if (one.source_database, one.owner, one.name) != (database, owner, name)
    ]
    scn = _scn(call.instantiation_scn)
    made = [] if scn is None else [Instantiation(database, owner, name, scn, of_rows, of_ddl)]
    environment.applied = [*others, *made]
    return []


def _scn(value: int | str | None) -> int | None:
    if not isinstance(value, str):
        return value
    if value.strip().isdecimal():
        return int(value)
    try:
        return int(Position.parse(value))
    except ConfigError as error:
        raise RuleError(error.message, code="RUL-145", hint=error.hint) from None


def settings_of_call(
    call: administration.CreateApply | administration.AlterApply, found: ApplySettings
) -> ApplySettings:
    """Return the settings of an apply process as a call that makes or changes it leaves them."""
    gone = (False,) * 3
    if isinstance(call, administration.AlterApply):
        gone = (call.remove_ddl_handler, call.remove_message_handler, call.remove_precommit_handler)
    return replace(
        found,
        ddl_handler="" if gone[0] else call.ddl_handler or found.ddl_handler,
        message_handler="" if gone[1] else call.message_handler or found.message_handler,
        precommit_handler="" if gone[2] else call.precommit_handler or found.precommit_handler,
    )
