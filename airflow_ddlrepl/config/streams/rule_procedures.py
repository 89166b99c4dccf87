"""This module defines the calls of the procedures that make rules for a client."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from airflow_ddlrepl.config.base.section import YesNo
from airflow_ddlrepl.config.streams.procedure import Procedure, StreamsType, Text, Type


class AddGlobalRules(Procedure):
    """Rules for all changes of a database, or of a queue."""

    name: ClassVar[str] = "add_global_rules"
    outputs: ClassVar[tuple[str, ...]] = (
        "dml_rule_name",
        "ddl_rule_name",
    )
    streams_type: Type = Field(description="capture, sync_capture, apply or dequeue")
    streams_name: str | None = Field(None, description="the client; default: the one of the queue")
    queue_name: Text = Field("streams_queue", description="the queue that the client uses")
    include_dml: YesNo = Field(True, description="a rule for row changes")
    include_ddl: YesNo = Field(False, description="a rule for DDL")
    include_tagged_lcr: YesNo = Field(False, description="changes with a tag, too")
    source_database: str | None = Field(None, description="only changes that come from this database")
    dml_rule_name: str | None = Field(None, description="the name of the rule for row changes; default: one is made up")
    ddl_rule_name: str | None = Field(None, description="the name of the rule for DDL; default: one is made up")
    inclusion_rule: YesNo = Field(True, description="false: into the negative rule set")
    and_condition: str | None = Field(None, description="a further condition, over :lcr")


class AddSchemaRules(Procedure):
    """Rules for the changes of a schema."""

    name: ClassVar[str] = "add_schema_rules"
    outputs: ClassVar[tuple[str, ...]] = (
        "dml_rule_name",
        "ddl_rule_name",
    )
    schema_name: Text = Field(description="the schema")
    streams_type: Type = Field(description="capture, sync_capture, apply or dequeue")
    streams_name: str | None = Field(None, description="the client; default: the one of the queue")
    queue_name: Text = Field("streams_queue", description="the queue that the client uses")
    include_dml: YesNo = Field(True, description="a rule for row changes")
    include_ddl: YesNo = Field(False, description="a rule for DDL")
    include_tagged_lcr: YesNo = Field(False, description="changes with a tag, too")
    source_database: str | None = Field(None, description="only changes that come from this database")
    dml_rule_name: str | None = Field(None, description="the name of the rule for row changes; default: one is made up")
    ddl_rule_name: str | None = Field(None, description="the name of the rule for DDL; default: one is made up")
    inclusion_rule: YesNo = Field(True, description="false: into the negative rule set")
    and_condition: str | None = Field(None, description="a further condition, over :lcr")


class AddTableRules(Procedure):
    """Rules for the changes of a table."""

    name: ClassVar[str] = "add_table_rules"
    outputs: ClassVar[tuple[str, ...]] = (
        "dml_rule_name",
        "ddl_rule_name",
    )
    table_name: Text = Field(description="SCHEMA.TABLE")
    streams_type: Type = Field(description="capture, sync_capture, apply or dequeue")
    streams_name: str | None = Field(None, description="the client; default: the one of the queue")
    queue_name: Text = Field("streams_queue", description="the queue that the client uses")
    include_dml: YesNo = Field(True, description="a rule for row changes")
    include_ddl: YesNo = Field(False, description="a rule for DDL")
    include_tagged_lcr: YesNo = Field(False, description="changes with a tag, too")
    source_database: str | None = Field(None, description="only changes that come from this database")
    dml_rule_name: str | None = Field(None, description="the name of the rule for row changes; default: one is made up")
    ddl_rule_name: str | None = Field(None, description="the name of the rule for DDL; default: one is made up")
    inclusion_rule: YesNo = Field(True, description="false: into the negative rule set")
    and_condition: str | None = Field(None, description="a further condition, over :lcr")


class AddSubsetRules(Procedure):
    """Rules for the changes of some of a table's rows; they go into the positive rule set."""

    name: ClassVar[str] = "add_subset_rules"
    outputs: ClassVar[tuple[str, ...]] = (
        "insert_rule_name",
        "update_rule_name",
        "delete_rule_name",
    )
    table_name: Text = Field(description="SCHEMA.TABLE")
    dml_condition: Text = Field(description="a condition over the table's columns, as in WHERE")
    streams_type: Type = Field(StreamsType.APPLY, description="capture, sync_capture, apply or dequeue")
    streams_name: str | None = Field(None, description="the client; default: the one of the queue")
    queue_name: Text = Field("streams_queue", description="the queue that the client uses")
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


class AddMessageRule(Procedure):
    """A rule for user messages of one type."""

    name: ClassVar[str] = "add_message_rule"
    outputs: ClassVar[tuple[str, ...]] = ("rule_name",)
    message_type: Text = Field(description="the type of the messages, as OWNER.TYPE")
    rule_condition: Text = Field(description="a condition over :msg")
    streams_type: Type = Field(description="capture, sync_capture, apply or dequeue")
    streams_name: str | None = Field(None, description="the client; default: the one of the queue")
    queue_name: Text = Field("streams_queue", description="the queue that the client uses")
    inclusion_rule: YesNo = Field(True, description="false: into the negative rule set")
    rule_name: str | None = Field(None, description="the name of the rule for the messages; default: one is made up")


class AddGlobalPropagationRules(Procedure):
    """Rules for all changes in a queue, on their way to another one."""

    name: ClassVar[str] = "add_global_propagation_rules"
    outputs: ClassVar[tuple[str, ...]] = (
        "dml_rule_name",
        "ddl_rule_name",
    )
    streams_name: str | None = Field(None, description="the client; default: the one of the queue")
    source_queue_name: Text = Field(description="the queue that messages come from")
    destination_queue_name: Text = Field(description="the queue that they go to, as QUEUE@DATABASE")
    include_dml: YesNo = Field(True, description="a rule for row changes")
    include_ddl: YesNo = Field(False, description="a rule for DDL")
    include_tagged_lcr: YesNo = Field(False, description="changes with a tag, too")
    source_database: str | None = Field(None, description="only changes that come from this database")
    dml_rule_name: str | None = Field(None, description="the name of the rule for row changes; default: one is made up")
    ddl_rule_name: str | None = Field(None, description="the name of the rule for DDL; default: one is made up")
    inclusion_rule: YesNo = Field(True, description="false: into the negative rule set")
    and_condition: str | None = Field(None, description="a further condition, over :lcr")
    queue_to_queue: YesNo | None = Field(None, description="has no effect here")


class AddSchemaPropagationRules(Procedure):
    """Rules for the changes of a schema in a queue, on their way to another one."""

    name: ClassVar[str] = "add_schema_propagation_rules"
    outputs: ClassVar[tuple[str, ...]] = (
        "dml_rule_name",
        "ddl_rule_name",
    )
    schema_name: Text = Field(description="the schema")
    streams_name: str | None = Field(None, description="the client; default: the one of the queue")
    source_queue_name: Text = Field(description="the queue that messages come from")
    destination_queue_name: Text = Field(description="the queue that they go to, as QUEUE@DATABASE")
    include_dml: YesNo = Field(True, description="a rule for row changes")
    include_ddl: YesNo = Field(False, description="a rule for DDL")
    include_tagged_lcr: YesNo = Field(False, description="changes with a tag, too")
    source_database: str | None = Field(None, description="only changes that come from this database")
    dml_rule_name: str | None = Field(None, description="the name of the rule for row changes; default: one is made up")
    ddl_rule_name: str | None = Field(None, description="the name of the rule for DDL; default: one is made up")
    inclusion_rule: YesNo = Field(True, description="false: into the negative rule set")
    and_condition: str | None = Field(None, description="a further condition, over :lcr")
    queue_to_queue: YesNo | None = Field(None, description="has no effect here")


class AddTablePropagationRules(Procedure):
    """Rules for the changes of a table in a queue, on their way to another one."""

    name: ClassVar[str] = "add_table_propagation_rules"
    outputs: ClassVar[tuple[str, ...]] = (
        "dml_rule_name",
        "ddl_rule_name",
    )
    table_name: Text = Field(description="SCHEMA.TABLE")
    streams_name: str | None = Field(None, description="the client; default: the one of the queue")
    source_queue_name: Text = Field(description="the queue that messages come from")
    destination_queue_name: Text = Field(description="the queue that they go to, as QUEUE@DATABASE")
    include_dml: YesNo = Field(True, description="a rule for row changes")
    include_ddl: YesNo = Field(False, description="a rule for DDL")
    include_tagged_lcr: YesNo = Field(False, description="changes with a tag, too")
    source_database: str | None = Field(None, description="only changes that come from this database")
    dml_rule_name: str | None = Field(None, description="the name of the rule for row changes; default: one is made up")
    ddl_rule_name: str | None = Field(None, description="the name of the rule for DDL; default: one is made up")
    inclusion_rule: YesNo = Field(True, description="false: into the negative rule set")
    and_condition: str | None = Field(None, description="a further condition, over :lcr")
    queue_to_queue: YesNo | None = Field(None, description="has no effect here")


class AddSubsetPropagationRules(Procedure):
    """Rules for the changes of some of a table's rows, on their way to another queue."""

    name: ClassVar[str] = "add_subset_propagation_rules"
    outputs: ClassVar[tuple[str, ...]] = (
        "insert_rule_name",
        "update_rule_name",
        "delete_rule_name",
    )
    table_name: Text = Field(description="SCHEMA.TABLE")
    dml_condition: Text = Field(description="a condition over the table's columns, as in WHERE")
    streams_name: str | None = Field(None, description="the client; default: the one of the queue")
    source_queue_name: Text = Field(description="the queue that messages come from")
    destination_queue_name: Text = Field(description="the queue that they go to, as QUEUE@DATABASE")
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
    queue_to_queue: YesNo | None = Field(None, description="has no effect here")


class AddMessagePropagationRule(Procedure):
    """A rule for user messages of one type, on their way to another queue."""

    name: ClassVar[str] = "add_message_propagation_rule"
    outputs: ClassVar[tuple[str, ...]] = ("rule_name",)
    message_type: Text = Field(description="the type of the messages, as OWNER.TYPE")
    rule_condition: Text = Field(description="a condition over :msg")
    streams_name: str | None = Field(None, description="the client; default: the one of the queue")
    source_queue_name: Text = Field(description="the queue that messages come from")
    destination_queue_name: Text = Field(description="the queue that they go to, as QUEUE@DATABASE")
    inclusion_rule: YesNo = Field(True, description="false: into the negative rule set")
    rule_name: str | None = Field(None, description="the name of the rule for the messages; default: one is made up")
    queue_to_queue: YesNo | None = Field(None, description="has no effect here")
