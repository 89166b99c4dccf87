"""This module defines the calls of the procedures that make rules for a client.

A procedure's parameters come in Oracle's order: first what the rules are about, then the client, then the rules.
Pydantic has the fields of the last base class first.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field, model_validator

from airflow_ddlrepl.notation.section import YesNo
from airflow_ddlrepl.streams.calls.procedure import Procedure, StreamsType, Text, Type


class _OfSchema(Procedure):
    schema_name: Text = Field(description="the schema")


class _OfTable(Procedure):
    table_name: Text = Field(description="SCHEMA.TABLE")


class _OfRows(_OfTable):
    dml_condition: Text = Field(description="a condition over the table's columns, as in WHERE")


class _OfMessages(Procedure):
    message_type: Text = Field(description="the type of the messages, as OWNER.TYPE")
    rule_condition: Text = Field(description="a condition over :msg")


class _ForClient(Procedure):
    streams_type: Type = Field(description="capture, sync_capture, apply or dequeue")
    streams_name: str | None = Field(None, description="the client; default: the one of the queue")
    queue_name: Text = Field("streams_queue", description="the queue that the client uses")


class _ForPropagation(Procedure):
    streams_name: str | None = Field(None, description="the client; default: the one of the queue")
    source_queue_name: Text = Field(description="the queue that messages come from")
    destination_queue_name: Text = Field(description="the queue that they go to, as QUEUE@DATABASE")


class _ToQueue(Procedure):
    queue_to_queue: YesNo | None = Field(None, description="has no effect here")


class _LcrRules(Procedure):
    outputs: ClassVar[tuple[str, ...]] = ("dml_rule_name", "ddl_rule_name")
    include_dml: YesNo = Field(True, description="a rule for row changes")
    include_ddl: YesNo = Field(False, description="a rule for DDL")
    include_tagged_lcr: YesNo = Field(False, description="changes with a tag, too")
    source_database: str | None = Field(None, description="only changes that come from this database")
    dml_rule_name: str | None = Field(None, description="the name of the rule for row changes; default: one is made up")
    ddl_rule_name: str | None = Field(None, description="the name of the rule for DDL; default: one is made up")
    inclusion_rule: YesNo = Field(True, description="false: into the negative rule set")
    and_condition: str | None = Field(None, description="a further condition, over :lcr")


class _SubsetRules(Procedure):
    outputs: ClassVar[tuple[str, ...]] = ("insert_rule_name", "update_rule_name", "delete_rule_name")
    include_tagged_lcr: YesNo = Field(False, description="changes with a tag, too")
    source_database: str | None = Field(None, description="only changes that come from this database")
    insert_rule_name: str | None = Field(
        None, description="the name of the rule for rows that come in; default: one is made up"
    )
    update_rule_name: str | None = Field(
        None, description="the name of the rule for rows that stay in; default: one is made up"
    )
    delete_rule_name: str | None = Field(
        None, description="the name of the rule for rows that go out; default: one is made up"
    )

    @model_validator(mode="before")
    @classmethod
    def _are_positive(cls, data: Any) -> Any:
        if isinstance(data, dict) and "inclusion_rule" in data:
            raise ValueError(
                "subset rules go into the positive rule set alone, without inclusion_rule; rows are left out by a table"
                " rule with inclusion_rule false and the condition as its and_condition"
            )
        return data


class _MessageRule(Procedure):
    outputs: ClassVar[tuple[str, ...]] = ("rule_name",)
    inclusion_rule: YesNo = Field(True, description="false: into the negative rule set")
    rule_name: str | None = Field(None, description="the name of the rule for the messages; default: one is made up")


class AddGlobalRules(_LcrRules, _ForClient):
    """Rules for all changes of a database, or of a queue."""


class AddSchemaRules(_LcrRules, _ForClient, _OfSchema):
    """Rules for the changes of a schema."""


class AddTableRules(_LcrRules, _ForClient, _OfTable):
    """Rules for the changes of a table."""


class AddSubsetRules(_SubsetRules, _ForClient, _OfRows):
    """Rules for the changes of some of a table's rows; they go into the positive rule set."""

    streams_type: Type = Field(StreamsType.APPLY, description="capture, sync_capture, apply or dequeue")


class AddMessageRule(_MessageRule, _ForClient, _OfMessages):
    """A rule for user messages of one type."""


class AddGlobalPropagationRules(_ToQueue, _LcrRules, _ForPropagation):
    """Rules for all changes in a queue, on their way to another one."""


class AddSchemaPropagationRules(_ToQueue, _LcrRules, _ForPropagation, _OfSchema):
    """Rules for the changes of a schema in a queue, on their way to another one."""


class AddTablePropagationRules(_ToQueue, _LcrRules, _ForPropagation, _OfTable):
    """Rules for the changes of a table in a queue, on their way to another one."""


class AddSubsetPropagationRules(_ToQueue, _SubsetRules, _ForPropagation, _OfRows):
    """Rules for the changes of some of a table's rows, on their way to another queue."""


class AddMessagePropagationRule(_ToQueue, _MessageRule, _ForPropagation, _OfMessages):
    """A rule for user messages of one type, on their way to another queue."""
