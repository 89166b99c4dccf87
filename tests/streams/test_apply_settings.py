"""How an apply process works besides its rules follows from the calls of procedures."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from airflow_ddlrepl.errors import RuleError
from airflow_ddlrepl.notation.import_findings import Fate
from airflow_ddlrepl.streams.calls.section import StreamsParameters
from airflow_ddlrepl.streams.condition.names import NameCase
from airflow_ddlrepl.streams.messages import Command, DdlLcr, RowLcr
from airflow_ddlrepl.streams.procedures.run import environment_of
from airflow_ddlrepl.streams.rules.apply_settings import ApplySettings
from airflow_ddlrepl.streams.script.compile import compile_script

CREATED = {"create_apply": {"apply_name": "a", "queue_name": "q", "source_database": "DBS1", "ddl_handler": "d"}}


def settings(*calls: dict[str, Any]) -> ApplySettings:
    parameters = StreamsParameters.model_validate({"calls": [CREATED, *calls]})
    return environment_of(parameters, NameCase.LOWER).apply_settings("a")


def handler(operation: str, function: str | None, **more: Any) -> dict[str, Any]:
    named = {"object_name": "hr.t", "operation_name": operation, "user_procedure": function}
    return {"set_dml_handler": {**named, **more}}


def row(command: Command) -> RowLcr:
    return RowLcr("hr", "t", "dbs1", command=command)


def test_handlers_by_command_and_client() -> None:
    other = {"create_apply": {"apply_name": "b", "queue_name": "q"}}
    found = settings(
        other,
        handler("default", "rest"),
        handler("INSERT", "ins"),
        handler("UPDATE", "gone"),
        handler("UPDATE", None),
        handler("DELETE", "of_b", apply_name="b"),
        handler("DELETE", "on_error", error_handler=True),
        handler("LOB_UPDATE", "never"),
    )
    assert [found.dml_handler(row(one)) for one in Command] == ["ins", "rest", "rest"]
    assert found.dml_handler(row(Command.DELETE), is_error_handler=True) == "on_error"
    assert found.dml_handler(RowLcr("hr", "u")) == ""
    assert found.functions == {"d", "rest", "ins", "on_error"}


def test_handlers_of_the_client_are_changed_and_taken_away() -> None:
    changed = {"alter_apply": {"apply_name": "a", "message_handler": "m", "precommit_handler": "p"}}
    found = settings(changed)
    assert (found.ddl_handler, found.message_handler, found.precommit_handler) == ("d", "m", "p")
    found = settings(changed, {"alter_apply": {"apply_name": "a", "remove_ddl_handler": True, "message_handler": "n"}})
    assert (found.ddl_handler, found.message_handler, found.source_database) == ("", "n", "dbs1")


def parameter(name: str, value: Any) -> dict[str, Any]:
    return {"set_parameter": {"apply_name": "a", "parameter": name, "value": value}}


def test_parameters() -> None:
    assert (settings().disables_on_error, settings().parallelism) == (True, 1)
    found = settings(parameter("DISABLE_ON_ERROR", "n"), parameter("parallelism", 4), parameter("trace_level", "1"))
    assert (found.disables_on_error, found.parallelism) == (False, 4)
    assert settings(parameter("parallelism", "4"), parameter("parallelism", None)).parallelism == 1
    for name, value in (("disable_on_error", "maybe"), ("parallelism", "0"), ("parallelism", "many")):
        with pytest.raises(RuleError) as raised:
            settings(parameter(name, value))
        assert raised.value.code == "RUL-145"
    with pytest.raises(RuleError) as raised:
        settings({"set_parameter": {"apply_name": "c", "parameter": "parallelism", "value": "1"}})
    assert raised.value.code == "RUL-113"


def test_what_tables_have_already() -> None:
    table = {"source_object_name": "hr.t", "source_database_name": "dbs1", "instantiation_scn": "0/64"}
    schema = {"source_schema_name": "oe", "source_database_name": "dbs1", "instantiation_scn": 50}
    whole = {"source_database_name": "dbs2", "instantiation_scn": "70", "recursive": True}
    calls = (
        {"set_table_instantiation_scn": table},
        {"set_schema_instantiation_scn": schema},
        {"set_global_instantiation_scn": whole},
    )
    found = settings(*calls).applied

    def has(lcr: Any, scn: int) -> bool:
        return any(one.has(lcr, scn) for one in found)

    assert [has(RowLcr("hr", "t", "dbs1"), scn) for scn in (99, 100, 101)] == [True, True, False]
    assert not has(RowLcr("hr", "u", "dbs1"), 1)
    assert not has(RowLcr("oe", "o", "dbs1"), 1)
    assert has(DdlLcr("oe", "o", "dbs1"), 50)
    assert has(DdlLcr("oe", "i", "dbs1", base_owner="hr", base_name="t"), 100)
    assert has(RowLcr("any", "t", "dbs2"), 70)
    assert (
        settings(*calls, {"set_table_instantiation_scn": {**table, "instantiation_scn": None}}).applied[0].owner == "oe"
    )
    with pytest.raises(RuleError) as raised:
        settings({"set_table_instantiation_scn": {**table, "instantiation_scn": "soon"}})
    assert raised.value.code == "RUL-145"


def test_rules_send_messages_elsewhere() -> None:
    rules = {"table_name": "hr.t", "streams_type": "apply", "streams_name": "a", "queue_name": "q"}
    made = {"add_table_rules": {**rules, "source_database": "dbs1", "dml_rule_name": "r"}}
    sent = {"set_enqueue_destination": {"rule_name": "r", "destination_queue_name": "q2"}}
    held = {"set_execute": {"rule_name": "r", "execute": False}}

    def pairs(*calls: dict[str, Any]) -> dict[str, Any]:
        parameters = StreamsParameters.model_validate({"calls": [CREATED, made, *calls]})
        return dict(environment_of(parameters, NameCase.LOWER).rule("r").action.pairs)

    assert pairs(sent, held) == {"APPLY$_ENQUEUE": "q2", "APPLY$_EXECUTE": "NO"}
    back = {"set_enqueue_destination": {"rule_name": "r", "destination_queue_name": None}}
    assert pairs(sent, held, back, {"set_execute": {"rule_name": "r", "execute": True}}) == {}


def test_what_a_call_can_not_say() -> None:
    for call in (handler("MERGE", "f"), handler("INSERT", "f", object_type="VIEW")):
        with pytest.raises(ValidationError):
            settings(call)


def test_a_script_with_handlers() -> None:
    found = compile_script(
        "BEGIN\nDBMS_APPLY_ADM.CREATE_APPLY(queue_name => 'q', apply_name => 'a', message_handler => 'hr.mes');\n"
        "DBMS_APPLY_ADM.SET_DML_HANDLER('hr.t', 'TABLE', 'UPDATE', FALSE, 'hr.on_t', NULL, 'a');\n"
        "DBMS_APPLY_ADM.SET_PARAMETER('a', 'parallelism', 4);\nEND;\n/\n"
    )
    names = [one.name for one in found.parameters().calls]
    assert names == ["create_apply", "set_dml_handler", "set_parameter"]
    told = [(one.line, one.what) for one in found.findings if one.fate is Fate.ATTENTION]
    assert told == [(2, "CREATE_APPLY message_handler"), (3, "SET_DML_HANDLER user_procedure")]
    made = environment_of(found.parameters()).apply_settings("A")
    assert (made.message_handler, made.dml_handlers[0].function, made.parallelism) == ("hr.mes", "hr.on_t", 4)
