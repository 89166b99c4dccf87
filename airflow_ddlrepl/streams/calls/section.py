"""This module defines the section that holds calls of procedures of Oracle Streams, and the types of user messages."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, field_serializer, field_validator

from airflow_ddlrepl.notation.section import Section
from airflow_ddlrepl.notation.suggestion import suggestion
from airflow_ddlrepl.streams.calls.procedure import Procedure

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

FieldKind = Literal["text", "number", "date", "raw"]


@lru_cache(1)
def procedures() -> dict[str, type[Procedure]]:
    """Return the classes of calls, by the name of the procedure in lower case; a file without calls imports none."""
    from airflow_ddlrepl.streams.calls import administration, apply_procedures, rule_procedures, transformations

    return {
        one.name: one
        for module in (rule_procedures, administration, apply_procedures, transformations)
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, Procedure) and one.name
    }


class _CallsSchema:
    """This annotation has the JSON Schema of calls name the procedures."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        if handler.mode != "validation":
            return handler(schema)
        call = {"type": "object", "minProperties": 1, "maxProperties": 1, "propertyNames": {"enum": [*procedures()]}}
        return {"type": "array", "items": call}


class StreamsParameters(Section):
    """Calls of procedures of Oracle Streams, in the order in which they are made: rules, clients, transformations."""

    message_types: dict[str, dict[str, FieldKind]] = Field(
        default_factory=dict, description="types of user messages, as OWNER.TYPE, with the kinds of their fields"
    )
    calls: Annotated[tuple[Procedure, ...], _CallsSchema()] = Field(
        (), description="each is PROCEDURE: {parameter: value, …}"
    )

    @field_validator("calls", mode="before")
    @classmethod
    def _read(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise ValueError("has to be a list of calls")
        return tuple(one if isinstance(one, Procedure) else _call(one) for one in value)

    @field_serializer("calls")
    def _write(self, calls: tuple[Procedure, ...]) -> list[dict[str, Any]]:
        return [{one.name: one.model_dump(mode="json", exclude_defaults=True)} for one in calls]


def _call(value: Any) -> Procedure:
    if not isinstance(value, dict) or len(value) != 1:
        raise ValueError("a call is one procedure with its parameters: add_table_rules: {table_name: hr.t, …}")
    ((name, parameters),) = value.items()
    if name not in procedures():
        raise ValueError(f"{name} is no procedure of Streams: {suggestion(str(name), procedures())}")
    return procedures()[name].model_validate(parameters)
