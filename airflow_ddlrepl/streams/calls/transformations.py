"""This module defines the calls that declare transformations of messages."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from airflow_ddlrepl.notation.section import IN_UPPER_CASE, Whole
from airflow_ddlrepl.streams.calls.procedure import Procedure, Text

RowRule = Annotated[Text, Field(description="the rule for row changes that it belongs to")]
LcrTable = Annotated[Text, Field(description="SCHEMA.TABLE, as the LCR has it then")]
ValueTypeName = Annotated[
    Literal["OLD", "NEW", "*"],
    IN_UPPER_CASE,
    Field(description="the old values, the new ones, or * for both"),
]
StepNumber = Annotated[Whole, Field(description="transformations are done by increasing number")]
Operation = Annotated[Literal["ADD", "REMOVE"], IN_UPPER_CASE, Field(description="ADD it, or REMOVE it")]


class AddColumn(Procedure):
    """A column is added to row LCRs."""

    rule_name: RowRule
    table_name: LcrTable
    column_name: Text = Field(description="the column")
    column_value: str | int | float | bool | None = Field(None, description="its value")
    column_function: str | None = Field(
        None, description="is refused: it gives another value when a change comes again"
    )
    value_type: ValueTypeName = "NEW"
    step_number: StepNumber = Field(0, ge=0)
    operation: Operation = "ADD"


class DeleteColumn(Procedure):
    """A column is removed from row LCRs."""

    rule_name: RowRule
    table_name: LcrTable
    column_name: Text = Field(description="the column")
    value_type: ValueTypeName = "*"
    step_number: StepNumber = Field(0, ge=0)
    operation: Operation = "ADD"


class KeepColumns(Procedure):
    """All columns but those of a list are removed from row LCRs."""

    rule_name: RowRule
    table_name: LcrTable
    column_list: tuple[str, ...] | str = Field(description="the columns; a text holds them with commas between them")
    value_type: ValueTypeName = "*"
    step_number: StepNumber = Field(0, ge=0)
    operation: Operation = "ADD"


class RenameColumn(Procedure):
    """A column of row LCRs is renamed."""

    rule_name: RowRule
    table_name: LcrTable
    from_column_name: Text = Field(description="its name")
    to_column_name: Text = Field(description="its new name")
    value_type: ValueTypeName = "*"
    step_number: StepNumber = Field(0, ge=0)
    operation: Operation = "ADD"


class RenameTable(Procedure):
    """The table of row LCRs is renamed, its schema, too, where the names differ in it."""

    rule_name: RowRule
    from_table_name: Text = Field(description="SCHEMA.TABLE")
    to_table_name: Text = Field(description="SCHEMA.TABLE")
    step_number: StepNumber = Field(0, ge=0)
    operation: Operation = "ADD"


class RenameSchema(Procedure):
    """The schema of row LCRs is renamed."""

    rule_name: RowRule
    from_schema_name: Text = Field(description="its name")
    to_schema_name: Text = Field(description="its new name")
    step_number: StepNumber = Field(0, ge=0)
    operation: Operation = "ADD"


class SetRuleTransformFunction(Procedure):
    """A function transforms the messages that a rule is true for."""

    rule_name: Text = Field(description="the rule")
    transform_function: str | None = Field(
        None, description="a Python function, as module.function; null: none any more"
    )
    is_array: bool = Field(False, description="it gives any number of messages for one")
