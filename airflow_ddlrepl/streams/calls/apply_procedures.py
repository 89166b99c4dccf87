"""This module defines the calls that say how an apply process works: handlers, parameters, where messages go."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from airflow_ddlrepl.notation.section import IN_UPPER_CASE, NUMBER_AS_TEXT, Whole, YesNo
from airflow_ddlrepl.streams.calls.procedure import Procedure, Text

Scn = Annotated[Whole | Text | None, Field(description="the position, as 0/16B3748 or a number; null: none any more")]
SourceDatabase = Annotated[Text, Field(description="the database that the changes come from")]
Handler = Annotated[str | None, Field(description="a function of `functions`, by its name; null: none")]


class SetDmlHandler(Procedure, package="DBMS_APPLY_ADM"):
    """A function applies row LCRs of a table, or is asked when one can't be applied."""

    object_name: Text = Field(description="SCHEMA.TABLE")
    object_type: Annotated[Literal["TABLE"], IN_UPPER_CASE] = "TABLE"
    operation_name: Annotated[
        Literal["INSERT", "UPDATE", "DELETE", "LOB_UPDATE", "DEFAULT"],
        IN_UPPER_CASE,
        Field(description="of which changes; DEFAULT: all that have no handler of their own"),
    ]
    error_handler: YesNo = Field(False, description="it is called when a change can't be applied")
    user_procedure: Handler
    apply_database_link: None = None
    apply_name: str | None = Field(None, description="the apply process; null: all")
    assemble_lobs: YesNo = Field(False, description="has no effect: values are always whole")


class SetApplyParameter(Procedure, package="DBMS_APPLY_ADM", name="set_parameter"):
    """A parameter of an apply process: disable_on_error or parallelism."""

    apply_name: Text = Field(description="the apply process")
    parameter: Text = Field(description="disable_on_error (Y or N), parallelism; others have no effect")
    value: Annotated[str | None, NUMBER_AS_TEXT, Field(description="its value; null: the default")] = None


class SetEnqueueDestination(Procedure, package="DBMS_APPLY_ADM"):
    """An apply process sends the messages that a rule is true for to a queue."""

    rule_name: Text = Field(description="the rule")
    destination_queue_name: str | None = Field(description="the queue; null: none any more")


class SetExecute(Procedure, package="DBMS_APPLY_ADM"):
    """An apply process applies the messages that a rule is true for, or does not."""

    rule_name: Text = Field(description="the rule")
    execute: YesNo = Field(description="false: they are not applied")


class SetTableInstantiationScn(Procedure, package="DBMS_APPLY_ADM"):
    """Changes of a table that are not behind a position are ignored: the target's table has them."""

    is_imported: ClassVar[bool] = False
    source_object_name: Text = Field(description="SCHEMA.TABLE at the source")
    source_database_name: SourceDatabase
    instantiation_scn: Scn


class SetSchemaInstantiationScn(Procedure, package="DBMS_APPLY_ADM"):
    """DDL on a schema's objects that is not behind a position is ignored; with `recursive` rows of its tables, too."""

    is_imported: ClassVar[bool] = False
    source_schema_name: Text = Field(description="the schema at the source")
    source_database_name: SourceDatabase
    instantiation_scn: Scn
    recursive: YesNo = Field(False, description="also for rows of its tables")


class SetGlobalInstantiationScn(Procedure, package="DBMS_APPLY_ADM"):
    """DDL of a database that is not behind a position is ignored; with `recursive` rows of its tables, too."""

    is_imported: ClassVar[bool] = False
    source_database_name: SourceDatabase
    instantiation_scn: Scn
    recursive: YesNo = Field(False, description="also for rows of its tables")
